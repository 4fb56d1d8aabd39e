package program

import (
	"bytes"
	"os"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestLinkerDropsWhatNobodyCalls fails when the linker keeps every exported
// method, which makes the program 14 MB larger. It does so as soon as the
// program can reach a call of a method by a name that only a run knows, as
// templates do.
func TestLinkerDropsWhatNobodyCalls(t *testing.T) {
	program, err := os.ReadFile(servers.Program(t, servers.Snowfence))
	must(t, err)
	// Names of functions are in a program without symbols too.
	if !bytes.Contains(program, []byte("github.com/redis/rueidis.NewClient")) {
		t.Fatal("the program has no names of functions: this test looks for them in vain")
	}
	for _, name := range []string{
		"rueidis/internal/cmds.Builder.ClusterAddslots", // a command that we never send
		"text/template.(*state).evalField",
	} {
		if bytes.Contains(program, []byte(name)) {
			t.Errorf("the program contains %s: \"go build -ldflags=-dumpdep\" shows who calls it", name)
		}
	}
}
