package resp

import (
	"bufio"
	"context"
	"net"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A client that was let in at a stop was told that there were too many.
func TestClientAtAStopIsToldWhy(t *testing.T) {
	s, _ := start(t, Config{})
	noError(t, s.Shutdown(context.Background()))
	theirs, ours := net.Pipe()
	defer ours.Close()
	s.serveConn(theirs)
	p := &peer{t, ours, bufio.NewReader(ours)}
	p.fails(p.reply(), server.Unavailable.Word())
}
