package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// mistakes are changes to the client, with the rule of the referee that each breaks.
var mistakes = map[string]struct{ rule, file, old, new string }{
	"it stamps beyond until": {
		"outage", "stamps.py", "if tick >= self.until or tick > now", "if self.until == 0 or tick > now",
	},
	"it ignores a loss":     {"taken", "lease.py", "e.status in (404, 409)", "e.status in ()"},
	"it goes on after 404":  {"gone", "lease.py", "e.status in (404, 409)", "e.status in (409,)"},
	"it repeats an attempt": {"renew", "lease.py", "attempt = secrets.token_urlsafe(18)", `attempt = "A" * 24`},
	"it uses a sequence number twice": {
		"sequence", "stamps.py", "self._sequence = tick, end - 1", "self._sequence = tick, end - 2",
	},
	"it uses numbers below first": {
		"sequence", "stamps.py", "tick, sequence = tick + 1, self.layout.first", "tick, sequence = tick + 1, 0",
	},
	"it forgets a Renew without an answer": {
		"lost-renewal", "lease.py", `"earlier": self._earlier`, `"earlier": []`,
	},
	"it forgets an Acquire without an answer": {
		"lost-acquire", "lease.py", `"earlier": self._earlier`, `"earlier": []`,
	},
	"it keeps the old ticket": {
		"renew", "lease.py", "= not self._ticket, g.ticket, g.node", "= not self._ticket, self._ticket or g.ticket, g.node",
	},
	"it gives back what it used": {"renew", "stamps.py", "return max(self.tick + 1, self.start)", "return self.start"},
	"it stamps below a raised from": {
		"raised", "stamps.py", "if max(now, self.start) > tick:\n                tick, sequence = max(now, self.start)",
		"if now > tick:\n                tick, sequence = now",
	},
	"it forgets what it stamped of a node": {
		"again", "stamps.py", "self._last.get((str(layout), node), (-1, layout.last))", "(-1, layout.last)",
	},
	"it does not say what it lost": {"taken", "lease.py", `body["lost"] = self._lost`, "pass"},
	"it needs a node number":       {"zero", "lease.py", `a.get("node", 0)`, `a["node"]`},
}

// referee runs the program's referee on the client in a folder, and returns its exit code.
func referee(t *testing.T, folder string, args ...string) (code int, out string) {
	t.Helper()
	python := servers.Need(t, "python", "python3")[0]
	args = append([]string{"conform"}, append(args, python, "-B", filepath.Join(folder, "adapter.py"))...)
	text, err := exec.CommandContext(t.Context(), servers.Program(t, servers.Snowfence), args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(text)
}

// The referee finds each mistake in a copy of the client.
func TestMistakes(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(client)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "snowfence", m.file)
			text, err := os.ReadFile(path)
			if err != nil || strings.Count(string(text), m.old) != 1 {
				t.Fatalf("%s has %q %d times, %v", m.file, m.old, strings.Count(string(text), m.old), err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, out := referee(t, dir, "--rule", m.rule); code != 3 {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}
