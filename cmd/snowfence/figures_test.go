package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
)

// told returns all that people read, by path, each as one line: the pages, and the
// comments and texts of the code.
func told(t *testing.T) map[string]string {
	t.Helper()
	out := pages(t)
	for _, dir := range []string{
		"../../lease", "../../sqlstore", "../../redisstore", "../../etcdstore",
		"../../remote", "../../proto", "../internal", ".",
	} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if e != nil && e.Name() == "web" {
				return fs.SkipDir
			}
			if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{
				".go",
				".proto",
			}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			out[path] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range out {
		out[path] = joined(text)
	}
	return out
}

var commented = regexp.MustCompile(`(?m)^\s*//+ ?`)

// joined is a text as one line, without the marks of comments.
func joined(text string) string {
	return strings.Join(strings.Fields(commented.ReplaceAllString(text, " ")), " ")
}

var (
	above   = regexp.MustCompile(`above now.{0,60}`)
	formula = regexp.MustCompile(`^above now \+ the longest ttl \+ twice the largest skew\b`)
	waiting = regexp.MustCompile(`(?i)twice the largest skew|twice (the )?.?MaxSkew|longest ttl (?:\+|plus|and) |set.back|first ID can be made`)
	figure  = regexp.MustCompile(`(?i)\b(\d+) ?(?:s|seconds)\b|(half a minute|a minute|\d+ minutes)`)
	ttls    = regexp.MustCompile(`(?i:ttl)[^.]{0,250}\b0 means (?:\[DefaultTTL\], )?(\d+) s\b|[Dd]efault ttl of (\d+)\b|lease \(at most (\d+) s\)|ttl \((\d+) s\)|lease \((\d+) seconds by default\)|default is (\d+) s\b|\*\*ttl\*\*: (\d+) s\b`)
	own     = regexp.MustCompile("snowfence new` (?:uses )?(\\d+) s|[Tt]he program uses (\\d+) s")
)

// A page told people to wait half a minute after a restore that cannot be seen, where 45
// s were needed. Every such figure, and the rule that it is from, is the package
// lease's.
func TestWaitingTimes(t *testing.T) {
	usual := 3 * lease.DefaultTTL // the longest ttl and twice the largest skew
	if usual != 45*time.Second {
		t.Errorf("the pages say 45 seconds, the rule %v", usual)
	}
	rules, waits, lengths, locals := 0, 0, 0, 0
	// How soon a holder notices is another figure, in the same sentences.
	third := "a third of the ttl (" + strconv.Itoa(int(lease.DefaultTTL/3/time.Second)) + " s)"
	for path, text := range told(t) {
		text = strings.ReplaceAll(text, third, "")
		for _, m := range above.FindAllString(text, -1) {
			if rules++; !formula.MatchString(m) {
				t.Errorf("%s has another rule: %q", path, m)
			}
		}
		for _, sentence := range regexp.MustCompile(`[.!|] `).Split(text, -1) {
			if !waiting.MatchString(sentence) || strings.Contains(path, "prove/figures.md") {
				continue // that page has what was measured with other times
			}
			for _, m := range figure.FindAllStringSubmatch(sentence, -1) {
				n, err := strconv.Atoi(m[1])
				if waits++; err != nil || time.Duration(n)*time.Second != usual {
					t.Errorf("%s: %q is not %v in: %.300s", path, m[0], usual, sentence)
				}
			}
		}
		for _, m := range ttls.FindAllStringSubmatch(text, -1) {
			if lengths++; strings.Join(m[1:], "") != strconv.Itoa(int(lease.DefaultTTL/time.Second)) {
				t.Errorf("%s: %q, and the ttl is %v", path, m[0], lease.DefaultTTL)
			}
		}
		for _, m := range own.FindAllStringSubmatch(text, -1) {
			if locals++; strings.Join(m[1:], "") != strconv.Itoa(int(open.LocalTTL/time.Second)) {
				t.Errorf("%s: %q, and the program's ttl is %v", path, m[0], open.LocalTTL)
			}
		}
	}
	if rules < 6 || waits < 5 || lengths < 7 || locals < 2 {
		t.Errorf("only %d rules, %d waits, %d lengths of leases and %d of the program's", rules, waits, lengths, locals)
	}
}

// TestUnseenCases: the argument, the package comment and the design page have as many
// cases of IDs that come twice unseen as the ledger of the simulation, in the same words.
func TestUnseenCases(t *testing.T) {
	read := func(path, from, to string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, text, ok := strings.Cut(string(data), from)
		text, _, ok2 := strings.Cut(text, to)
		if !ok || !ok2 {
			t.Fatalf("%s has no text from %q to %q", path, from, to)
		}
		return text
	}
	item := regexp.MustCompile(`(?m)^\s*(//\s+- |[0-9]\. |  - )|\([0-9]\) `)
	excuses := read("../../lab/simulate/ledger.go", "// excused reports", "func (s *sim) excused")
	want := len(item.FindAllString(excuses, -1))
	for name, text := range map[string]string{
		"argument":    read("../../docs/prove/argument.md", "four things that no lease can see", "In practice"),
		"lease":       read("../../lease/doc.go", "# What no lease can see", "package lease"),
		"design.md":   read("../../docs/decide/design.md", "**What no lease can see is counted", "\n- **"),
		"reliability": read("../../docs/prove/figures.md", "Not counted as violations", "\n\n"),
	} {
		if n := len(item.FindAllString(text, -1)); n != want && name != "reliability" {
			t.Errorf("%s has %d cases, and the simulation excuses %d", name, n, want)
		}
		for _, words := range []string{"resumed twice", "acqui", "rolled back"} {
			if !strings.Contains(text, words) {
				t.Errorf("%s does not say what is %q", name, words)
			}
		}
	}
	if want != 4 {
		t.Errorf("the simulation excuses %d cases", want)
	}
}
