package typescript

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// seeded are mistakes: each is a rule of the referee that notices it, a text of a file, and what
// stands in its place.
var seeded = map[string]struct{ rule, file, old, new string }{
	"ignores the end of its grant": {
		"outage", "stamper.js", "tick >= this.#until || ", "",
	},
	"goes on after another program has its node": {
		"taken", "lease.js", " || e.status === 409", "",
	},
	"goes on after its namespace is gone": {
		"gone", "lease.js", "e.status === 404 || ", "",
	},
	"uses a sequence number twice": {
		"sequence", "stamper.js", "this.#low += low;", "this.#low += this.#seq % 2 * low;",
	},
	"uses a number above the last": {
		"sequence", "stamper.js", "this.#seq < last && this.#tick >= now", "this.#seq <= last && this.#tick >= now",
	},
	"begins a node anew after a loss": {
		"again", "stamper.js", "seal() { this.#until = 0; }", "seal() { this.#until = 0; this.#tick = -1; }",
	},
	"stamps below a raised from": {
		"raised", "stamper.js", "Math.max(tick, now, this.#from)", "Math.max(tick, now)",
	},
	"forgets attempts without an answer": {
		"lost-renewal", "lease.js", "ticket: held.ticket, attempt, earlier }", "ticket: held.ticket, attempt }",
	},
	"takes another node after a lost answer": {
		"lost-acquire", "lease.js", "attempt, earlier, ...this.#lost", "attempt, ...this.#lost",
	},
	"has one attempt for all": {
		"renew", "lease.js", "this.#random.getRandomValues(new Uint8Array(16))", "new Uint8Array(16)",
	},
	"renews with its first ticket": {
		"renew", "lease.js", "this.#grant = g;", "this.#grant = { ...g, ticket: this.#grant?.ticket ?? g.ticket };",
	},
	"gives back ticks that it stamped": {
		"renew", "lease.js", "this.holder.last(g.node) + 1, g.from", "0, g.from",
	},
	"hides a loss": {
		"taken", "lease.js", "this.#lost = held.ticket;", "",
	},
	"follows a redirect": {
		"damaged", "servers.js", `redirect: "error"`, `redirect: "follow"`,
	},
}

// The referee notices each mistake in a copy of the package.
func TestMistakes(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	dir, program := build(t), servers.Program(t, servers.Snowfence)
	for name, s := range seeded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(copied, "dist", "esm", s.file)
			text, err := os.ReadFile(path)
			if err != nil || strings.Count(string(text), s.old) != 1 {
				t.Fatalf("%s has no place, or several, for %q: %v", s.file, s.old, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), s.old, s.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			line := []string{"conform", "--json", "--rule", s.rule, "node", "conform.js"}
			cmd := exec.CommandContext(t.Context(), program, line...)
			cmd.Dir = copied
			out, err := cmd.Output()
			var row struct{ Verdict string }
			var exit *exec.ExitError
			if jsonErr := json.Unmarshal(out, &row); jsonErr != nil || err != nil && !errors.As(err, &exit) {
				t.Fatal(err, jsonErr)
			}
			if row.Verdict != "red" {
				t.Errorf("%s: %s", s.rule, out)
			}
		})
	}
}
