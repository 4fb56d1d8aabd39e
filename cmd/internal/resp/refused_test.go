package resp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

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

// A refused client of TLS that sent nothing kept its connection for the
// time of a handshake, in any number.
func TestRefusedClientOfTLSIsClosedAtOnce(t *testing.T) {
	s, _ := start(t, Config{MaxConns: -1})
	theirs, ours := net.Pipe()
	defer ours.Close()
	s.serveConn(tls.Server(theirs, &tls.Config{}))
	noError(t, ours.SetDeadline(time.Now().Add(5*time.Second)))
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("it is still open: %v", err)
	}
}
