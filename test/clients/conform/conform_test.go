package conform

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// client is a client with an adapter.
type client struct {
	name    string
	slow    bool // for make full
	judged  bool // by the tests of its own
	command func(t *testing.T) []string
}

var clients = []client{
	{name: "go", command: func(*testing.T) []string { return []string{os.Args[0], adapterArg} }},
	{name: "python", judged: true, command: func(t *testing.T) []string {
		return append(servers.Need(t, "python", "python3"), "-B", filepath.Join(folders, "python", "adapter.py"))
	}},
	{name: "typescript", judged: true, command: func(t *testing.T) []string {
		node := servers.Need(t, "node", "node", "npm")
		dir := filepath.Join(t.TempDir(), "typescript")
		err := os.CopyFS(dir, os.DirFS(filepath.Join(folders, "typescript")))
		for _, line := range []string{"ci --ignore-scripts --no-audit --no-fund", "run build"} {
			if err == nil {
				cmd := exec.CommandContext(t.Context(), node[1], strings.Fields(line)...)
				cmd.Dir, cmd.Stderr = dir, os.Stderr
				err = cmd.Run()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return []string{node[0], filepath.Join(dir, "conform.js")}
	}},
	{name: "java", slow: true, command: func(t *testing.T) []string {
		servers.Need(t, "java", "javac", "java")
		out := t.TempDir()
		compile := exec.CommandContext(t.Context(), "bash", "-euc",
			"javac -d "+out+" src/org/snowfence/*.java tests/Adapter.java")
		compile.Dir, compile.Stderr = filepath.Join(folders, "java"), os.Stderr
		if err := compile.Run(); err != nil {
			t.Fatal(err)
		}
		return []string{"java", "-cp", out, "Adapter"}
	}},
	{name: "perl", slow: true, command: func(t *testing.T) []string {
		return append(servers.Need(t, "perl", "perl"), filepath.Join("perl", "adapter.pl"))
	}},
}

// folders has the folders of clients.
const folders = "../../../clients"

// Each client follows the rules of the specification.
func TestClients(t *testing.T) {
	for _, c := range clients {
		if c.judged {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			if c.slow {
				servers.Later(t)
			}
			program := servers.Program(t, servers.Snowfence)
			args := append([]string{"conform"}, c.command(t)...)
			if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The page says how long the client is that was written from it alone.
func TestSmallClient(t *testing.T) {
	text, err := os.ReadFile("perl/adapter.pl")
	page, pageErr := os.ReadFile("../../../docs/reference/specification.md")
	if said := fmt.Sprintf("in %d lines", bytes.Count(text, []byte("\n"))); !bytes.Contains(page, []byte(said)) {
		t.Errorf("the page does not say %q; %v, %v", said, err, pageErr)
	}
}
