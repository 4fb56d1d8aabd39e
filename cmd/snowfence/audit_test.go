package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// writeInput writes a file, compressed if its name says so.
func writeInput(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	f, err := os.Create(name)
	noError(t, err)
	defer f.Close()
	var w io.WriteCloser = f
	switch filepath.Ext(name) {
	case ".gz":
		w = gzip.NewWriter(f)
	case ".zst":
		w = must(zstd.NewWriter(f))
	}
	must(w.Write(data))
	noError(t, w.Close())
	return name
}

// Compressed or not, from a file or a pipe: the same IDs.
func TestAuditInputs(t *testing.T) {
	const n = 300_000
	var text bytes.Buffer
	for i := range uint64(n) {
		fmt.Fprintln(&text, 2104672976770170879+i<<20)
	}
	for _, file := range []string{"ids.txt", "ids.txt.gz", "ids.txt.zst"} {
		name := writeInput(t, file, text.Bytes())
		data := must(os.ReadFile(name))
		for _, args := range [][]string{{"audit", name}, {"audit"}, {"audit", "-"}} {
			var out, errs bytes.Buffer
			code := run(t.Context(), args, bytes.NewReader(data), &out, &errs, nil)
			if code != command.ExitOK || !strings.Contains(out.String(),
				"IDs         300,000\nduplicates  none\norder       never falls\n") {
				t.Errorf("%s, %v: exit code %d\n%s%s", file, args, code, out.String(), errs.String())
			}
		}
		// Twice the same file: every ID is there twice, and nothing about
		// the second half is guessed.
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"audit", "--limit", "1", name, name}, nil, &out, &errs, nil)
		if code != command.ExitFindings || !strings.Contains(out.String(),
			"300,000 IDs came more than once, 300,000 too many") {
			t.Errorf("%s twice: exit code %d\n%s%s", file, code, out.String(), errs.String())
		}
	}
}

func TestAuditBrokenInputs(t *testing.T) {
	whole := writeInput(t, "ids.txt.gz", []byte(strings.Repeat("12345\n", 10_000)))
	data := must(os.ReadFile(whole))
	for _, c := range []struct {
		data []byte
		want string
	}{
		{data[:len(data)-9], "unexpected EOF"},
		{[]byte{0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff}, "standard input: "},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"audit"}, bytes.NewReader(c.data), &out, &errs, nil)
		if code == command.ExitOK || code == command.ExitFindings || !strings.Contains(errs.String(), c.want) {
			t.Errorf("want %s: exit code %d, %s", c.want, code, errs.String())
		}
	}
}

// A pipe that gives nothing does not keep the program from ending.
func TestAuditInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	time.AfterFunc(50*time.Millisecond, cancel)
	var errs bytes.Buffer
	if code := run(ctx, []string{"audit"}, in, io.Discard, &errs, nil); code != command.ExitInterrupted {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}

var number = regexp.MustCompile(`\b[0-9]{15,19}\b`)

// otherIDs are numbers in the pages that are no IDs of the default layout,
// and what they are.
var otherIDs = map[string]string{
	"653022933811200000": "made by both layouts of a change that is refused",
	"9007199254740991":   "2^53 - 1, the last number of a sequence",
}

// TestDocumentedIDs reads each ID in the pages with the default layout, and
// wants it to be of the year in which the pages were written.
func TestDocumentedIDs(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.Default()))
	n := 0
	for path, text := range pages(t) {
		for _, digits := range number.FindAllString(text, -1) {
			if otherIDs[digits] != "" {
				continue
			}
			n++
			id := must(strconv.ParseInt(digits, 10, 64))
			if p, err := s.Decode(snowfence.ID(id)); err != nil || p.Time.Year() != 2026 {
				t.Errorf("%s: %s is no ID of the default layout from 2026: %v, %v", path, digits,
					p.Time.Format(time.RFC3339), err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d IDs", n)
	}
}

var (
	shown   = regexp.MustCompile(`(?m)^\$ snowfence (.*)\n((?:[^$\n].*\n?)*)`)
	changes = regexp.MustCompile(`\b[0-9]{15,19}\b(\t\w+)?|\([^()]* (ago|now)[^()]*, `)
)

// TestDocumentedOutput runs the commands that README and the page of
// sequences show with their output, and compares it but for IDs that are
// new and for how long ago something was.
func TestDocumentedOutput(t *testing.T) {
	all := pages(t)
	if n := documentedOutput(t, all["../../README.md"]); n < 4 {
		t.Errorf("only %d commands", n)
	}
	if n := documentedOutput(t, all["../../docs/choose/sequences.md"]); n < 4 {
		t.Errorf("only %d commands about sequences", n)
	}
}

func documentedOutput(t *testing.T, page string) (n int) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir(), "SNOWFENCE_NAMESPACE=default\r"} // of a file with CRLF
	// as in "Try it", which makes the store and says so
	run(t.Context(), []string{"new"}, nil, io.Discard, io.Discard, env)
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		for _, c := range shown.FindAllStringSubmatch(block[2], -1) {
			args := strings.Fields(c[1])
			if block[1] != "console" || args[0] == "serve" {
				continue
			}
			n++
			var stdout, stderr bytes.Buffer
			run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
			got := changes.ReplaceAllString(stdout.String(), "NEW")
			want, cut := strings.CutSuffix(changes.ReplaceAllString(c[2], "NEW"), "…\n")
			if stderr.Len() > 0 || got != want && !(cut && strings.HasPrefix(got, want)) {
				t.Errorf("snowfence %s prints\n%s%sthe page has\n%s", c[1], stdout.String(), stderr.String(), c[2])
			}
		}
	}
	return n
}
