//go:build unix

package servers_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestProcess(t *testing.T) {
	p := servers.Start(t, "sh", servers.Need(t, "sh", "sh")[0],
		[]string{"-c", "echo $WORD; exec sleep 1000"}, []string{"WORD=hello"})
	wrote := func() error {
		b, err := os.ReadFile(p.Log)
		if err == nil && !strings.Contains(string(b), "hello") {
			err = errors.New("nothing written")
		}
		return err
	}
	p.Ready(t, wrote)
	p.Stop(t, syscall.SIGTERM)
	p.Restart(t)
	p.Signal(t, syscall.SIGSTOP)
	p.Kill()
	select {
	case <-p.Done():
	default:
		t.Error("a killed process is not done")
	}
}
