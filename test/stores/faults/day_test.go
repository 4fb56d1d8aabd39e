//go:build linux

package faults

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// day is a server under a fault, with what it says to whom.
type day struct {
	*target
	server            *worker
	clock             *stepped // the same server; nil where its clock is the machine's
	web, resp, manage string   // its addresses
	dir               string
	start             func(t testing.TB) // starts another server in place of one that has ended
	began             mark               // of the fault, in the log
	scrapes           []map[string]string
}

// trouble is a row of the page's table: a fault, and what is special about
// it.
type trouble struct {
	name    string
	store   string // a key of targets
	args    []string
	quick   bool // also in short form
	stepped bool // the server has a clock of its own
	begin   func(t testing.TB, d *day) (end func())
}

const (
	caller   = "shop" // the name and the token of who asks in every row
	leasable = 2      // nodes
)

// TestOperatorsDay plays what wakes operators, and compares what health,
// alerts, log and callers say with the table in docs/operate/operations.md.
func TestOperatorsDay(t *testing.T) {
	t.Parallel()
	page := dayTable(t, "../../../docs/operate/operations.md")
	rows := make([]string, len(troubles))
	t.Run("rows", func(t *testing.T) {
		for i, x := range troubles {
			t.Run(x.name, func(t *testing.T) {
				if !x.quick {
					servers.Later(t)
				}
				t.Parallel()
				rows[i] = x.play(t, page[x.name])
			})
		}
	})
	for _, x := range troubles {
		if page[x.name] == nil {
			t.Errorf("the page has no row of %q", x.name)
		}
		delete(page, x.name)
	}
	for name := range page {
		t.Errorf("nothing shows the page's row of %q", name)
	}
	seen.day = "\n" + dayHeader + "\n|---|---|---|---|---|\n" + strings.Join(rows, "")
	t.Log(seen.day)
}

const dayHeader = "| what happens | `/readyz` | alerts | the log | callers |"

// dayTable returns the rows of the page by what happens.
func dayTable(t testing.TB, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	_, table, _ := strings.Cut(string(text), dayHeader+"\n")
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) < 5 {
			if strings.HasPrefix(line, "|--") {
				continue
			}
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "`", ""))
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// play lets a fault befall a server until it says what the page says, and
// returns the row.
func (x trouble) play(t *testing.T, want []string) string {
	d := &day{target: targets[x.store](t), dir: tempDir(t)}
	ports := servers.Ports(t, 3)
	d.web, d.resp, d.manage = servers.Address(ports[0]), servers.Address(ports[1]), servers.Address(ports[2])
	tokens := filepath.Join(d.dir, "tokens.yaml")
	text := "tokens:\n"
	for _, name := range []string{caller, "greedy"} {
		text += fmt.Sprintf("- {name: %s, sha256: %x, verbs: [ids]}\n", name, sha256.Sum256([]byte(name)))
	}
	must(t, os.WriteFile(tokens, []byte(text), 0o600))
	args := append([]string{
		"serve", "--store", d.programURL(), "--http", d.web, "--resp", d.resp, "--admin", d.manage, "--tokens", tokens,
		"--block", "1", "--label", "server",
	}, x.args...)
	nodes := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: leasable}}
	must(t, tests.ErrOf(scope.Namespaces(d.store).Create(t.Context(), namespace, fleet.Scheme(t, "twitter"), nodes)))
	d.start = func(t testing.TB) {
		if x.stepped {
			d.clock = launchStepped(t, "server", args...)
			d.server = d.clock.worker
			return
		}
		d.server = launch(t, "server", nil, snowfencePath(t), args...)
	}
	d.start(t)
	within(t, patience, "the server makes IDs", func() bool { return d.ready() == "ok" && d.callers(t) == "IDs" })
	d.began = d.server.mark()
	d.scrape()
	end := x.begin(t, d)
	var got []string
	missing := want
	for deadline := time.Now().Add(patience); ; {
		tick := time.After(time.Second)
		d.scrape()
		if got, missing = d.look(t, want); len(missing) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("the page says\n%s\nand this was never there: %s\n%s", strings.Join(want, "\n"),
				strings.Join(missing, "; "), strings.Join(got, "\n"))
			break
		}
		<-tick
	}
	if end != nil {
		end()
		within(t, patience, "IDs go on", func() bool { return !d.server.alive() || d.callers(t) == "IDs" })
	}
	return "| " + x.name + " | " + strings.Join(got, " | ") + " |\n"
}

// look returns what is said now, and which cells of the page are otherwise.
func (d *day) look(t *testing.T, want []string) (got, missing []string) {
	got = []string{d.ready(), "", "", d.callers(t)}
	if want == nil {
		return got, []string{"no row"}
	}
	differs := func(i int, same bool) {
		if !same {
			missing = append(missing, want[i])
		}
	}
	differs(0, alike(got[0], want[0]))
	d.server.mu.Lock()
	for _, s := range d.server.log[d.began.log:] {
		if line := short(s.text); alike(line, want[2]) {
			got[2] = line
		}
	}
	d.server.mu.Unlock()
	differs(2, got[2] != "" || want[2] == "–")
	differs(3, alike(got[3], want[3]))
	if health := d.ask("/healthz"); health != "200 ok" && got[0] != "no answer" {
		missing = append(missing, "/healthz: "+health)
	}
	if len(missing) > 0 { // asking for the alerts costs a process
		return got, missing
	}
	raised := alerts(t, d.scrapes)
	got[1] = cmp.Or(strings.Join(raised, ", "), "–")
	for name := range strings.SplitSeq(want[1], ", ") {
		differs(1, name == "–" || slices.Contains(raised, name))
	}
	return got, missing
}

// alike reports whether a text is a page's, but for what the page leaves
// out by "…".
func alike(got, page string) bool {
	parts := strings.Split(page, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$").MatchString(got)
}

// quick is for requests that a server answers from memory, or refuses.
var quick = http.Client{Timeout: 5 * time.Second}

// ask asks the admin address.
func (d *day) ask(path string) string {
	status, text, _ := servers.Ask(context.Background(), &quick, http.MethodGet, "http://"+d.manage+path, "")
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprintf("%d %s", status, strings.TrimSpace(text))
}

func (d *day) ready() string {
	text := d.ask("/readyz")
	return strings.TrimPrefix(strings.TrimPrefix(text, "200 "), "503 ")
}
