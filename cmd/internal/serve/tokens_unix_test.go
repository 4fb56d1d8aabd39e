//go:build unix

package serve

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A file of tokens that is a pipe is refused: reading it would wait for a
// writer.
func TestTokensFromPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	noError(t, syscall.Mkfifo(pipe, 0o600))
	fails(t, errOf(ReadTokens(pipe)), "a pipe was read")
}
