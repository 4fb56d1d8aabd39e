package native

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// client is a client with an adapter for lab/conform.
type client struct {
	name    string
	slow    bool                                       // for make full
	folder  func(t *testing.T) string                  // its files
	adapter func(t *testing.T, folder string) []string // its adapter
	vectors func(t *testing.T, folder string) string   // a command line over the vectors in $VECTORS
}

func folder(path string) func(*testing.T) string { return func(*testing.T) string { return path } }

var judged = []client{
	{
		name: "go", folder: folder("adapter"), adapter: func(t *testing.T, dir string) []string {
			program := filepath.Join(t.TempDir(), "adapter")
			run(t, dir, "go build -ldflags=-s -o "+program+" .")
			return []string{program}
		}, // lab/mutants breaks its terms
	},
	{
		name: "python", folder: folder(clients + "/python"), adapter: func(t *testing.T, dir string) []string {
			return append(servers.Need(t, "python", "python3"), "-B", filepath.Join(dir, "adapter.py"))
		}, vectors: func(t *testing.T, dir string) string {
			return "cd " + dir + "; " + servers.Need(t, "python", "python3")[0] + " -m unittest tests.test_vectors"
		},
	},
	{
		name: "typescript", folder: build, adapter: func(t *testing.T, dir string) []string {
			return append(servers.Need(t, "node", "node"), filepath.Join(dir, "conform.js"))
		}, vectors: func(_ *testing.T, dir string) string { return "node " + dir + "/test/vectors.js $VECTORS" },
	},
	{
		name: "java", slow: true, folder: folder(clients + "/java"), adapter: func(t *testing.T, dir string) []string {
			return []string{"java", "-cp", compile(t, dir), "Adapter"}
		}, vectors: func(t *testing.T, dir string) string {
			return "java -cp " + compile(t, dir) + " org.snowfence.Vectors $VECTORS"
		},
	},
	{
		name: "perl", slow: true, folder: folder("perl"), adapter: func(t *testing.T, dir string) []string {
			return append(servers.Need(t, "perl", "perl"), filepath.Join(dir, "adapter.pl"))
		},
	},
}

// conform has the referee judge an adapter, and returns its exit code: 3 if
// a rule is broken.
func conform(t *testing.T, adapter []string, args ...string) (code int, table string) {
	t.Helper()
	program := []string{"-program", servers.Program(t, servers.Snowfence)}
	cmd := exec.CommandContext(t.Context(), servers.Program(t, "github.com/snowfence/snowfence/lab/conform"),
		slices.Concat(program, args, adapter)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// Each client follows the rules of the specification. In short form, the Go
// client plays all rules, and the others play those about losses.
func TestClients(t *testing.T) {
	for _, c := range judged {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			if c.slow {
				servers.Later(t)
			}
			var few []string
			if testing.Short() && c.name != "go" {
				few = []string{"-rule", "lost-renewal,taken"}
			}
			if code, table := conform(t, c.adapter(t, c.folder(t)), few...); code != 0 {
				t.Errorf("exit code %d\n%s", code, table)
			}
		})
	}
}

// The vectors hold, and a wrong digit in any file is noticed.
func TestVectors(t *testing.T) {
	for _, c := range judged {
		if c.vectors == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				servers.Later(t)
			}
			line := c.vectors(t, c.folder(t))
			t.Log(run(t, ".", line, "VECTORS="+absolute(t, vectors)))
			if testing.Short() {
				return
			}
			for name, change := range map[string][2]string{
				"layouts.json": {`"tick_ns": "10000000"`, `"tick_ns": "10000001"`},
				"ids.json":     {`"unix_ns": "1`, `"unix_ns": "2`},
				"texts.json":   {`"zbase32": "y"`, `"zbase32": "b"`},
				"ciphers.json": {`"5203293588777728564"`, `"5203293588777728565"`},
				"grants.json":  {`"id": "6412"`, `"id": "6413"`},
				"fields.json":  {`"tagged": "`, `"tagged": "1`},
			} {
				if c.name == "java" && name == "ciphers.json" {
					continue // it makes plain IDs only
				}
				bad := copied(t, vectors)
				replace(t, filepath.Join(bad, name), change[0], change[1])
				tests.Fails(t, tests.ErrOf(try(t, ".", line, "VECTORS="+bad)), "%s: wrong vectors pass", name)
			}
		})
	}
}
