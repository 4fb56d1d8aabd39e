package wires

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// A generator in another language that follows
// docs/reference/specification.md makes no ID twice: over renewals whose
// answer is lost, a node that is given to another program, and nodes given
// back.
func TestLeasesBySpecification(t *testing.T) {
	t.Parallel() // it mostly waits for a grant to end
	python := servers.Need(t, "python", "python3")[0]
	s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "leases.db"))
	cmd := exec.CommandContext(t.Context(), python, "-B", filepath.Join("python", "leases.py"), s.http, secret,
		filepath.Join("..", "..", "clients", "specification", "python"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
