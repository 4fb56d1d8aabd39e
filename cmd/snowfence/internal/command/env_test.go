package command

import (
	"bufio"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/spf13/cobra"
)

// A store that closed its socket looked like a reader that had left, and
// its error was not told.
func TestOnlyAReaderThatLeftIsNoFailure(t *testing.T) {
	r, w, err := os.Pipe()
	tests.NoError(t, err, r.Close())
	defer w.Close()
	closed := &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}
	for _, failure := range []error{nil, closed} {
		var said strings.Builder
		e := New(nil, w, &said, nil)
		err := e.Run(func(_ *cobra.Command, _ []string, out *bufio.Writer) error {
			_, _ = out.WriteString("1\n")
			return failure
		})(nil, nil)
		code := e.Exit(nil, err)
		if failed := failure != nil; failed != (code == ExitFailed) || failed != (said.Len() > 0) {
			t.Errorf("%v: exit code %d, %q", failure, code, &said)
		}
	}
}
