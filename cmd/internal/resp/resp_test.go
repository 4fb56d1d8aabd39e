package resp

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// start serves a new service with the namespace default on a loopback port.
func start(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Service == nil {
		st := store.NewMemory()
		s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
		must(scope.Namespaces(st).Create(context.Background(), "default", s, nil))
		cfg.Service = server.New(st, server.Options{})
		t.Cleanup(func() {
			noError(t, cfg.Service.Close(context.Background()))
		})
	}
	if cfg.Auth == nil {
		a := server.Open()
		cfg.Auth = func() *server.Auth { return a }
	}
	cfg.Version = "test"
	s := New(bounded(cfg))
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		wantErr(t, s.Shutdown(ctx), nil, "shutdown")
		if err := <-served; err != nil {
			t.Error("serve:", err)
		}
	})
	return s, ln.Addr().String()
}

// bounded returns a configuration with bounds that no test meets, where it
// has none.
func bounded(cfg Config) Config {
	cfg.MaxConns, cfg.Slow = cmp.Or(cfg.MaxConns, 1000), cmp.Or(cfg.Slow, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.User == nil {
		cfg.User = func(net.Conn) *server.Identity { return nil }
	}
	return cfg
}

// talk sends a text and returns what comes back until the server closes the
// connection.
func talk(t *testing.T, addr, text string) string {
	t.Helper()
	c := must(net.Dial("tcp", addr))
	defer c.Close()
	noError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	go func() { _, _ = io.WriteString(c, text) }()
	b, err := io.ReadAll(bufio.NewReader(c))
	if err != nil {
		t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

func TestInlineCommands(t *testing.T) {
	_, addr := start(t, Config{})
	for text, want := range map[string]string{
		"ping\r\nquit\r\n":                              "+PONG\r\n+OK\r\n",
		"PING hello\nQUIT\n":                            "$5\r\nhello\r\n+OK\r\n",
		"select 0\r\nselect 1\r\nquit\r\n":              "+OK\r\n-ERR DB index is out of range: there is only 0\r\n+OK\r\n",
		"\r\n\r\nquit\r\n":                              "+OK\r\n",
		"get x\r\nquit\r\n":                             "-NOSEQUENCE sequence \"x\": no such sequence in this store: create it: ",
		"POST / HTTP/1.1\r\nsnowfence.next default\r\n": "-ERR this is not HTTP\r\n",
		"cluster slots\r\nquit\r\n":                     "-ERR unknown command 'cluster': this is one server",
		"monitor\r\nquit\r\n":                           "-ERR unknown command 'monitor': COMMAND lists all\r\n+OK\r\n",
		"multi\r\nexec\r\nquit\r\n":                     "+OK\r\n*0\r\n+OK\r\n",
		"subscribe x\r\nquit\r\n":                       "-ERR unknown command 'subscribe': there are no channels here\r\n+OK\r\n",
		"snowfence.next nowhere\r\nquit\r\n":            "-NONAMESPACE lease: reading namespace",
		"snowfence.next\r\nquit\r\n":                    "-ERR wrong number of arguments for 'snowfence.next' command\r\n+OK\r\n",
		"snowfence.next default count\r\nquit\r\n":      "-ERR syntax error",
		"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n":      "+PONG\r\n+OK\r\n",
		"*1\r\n$-1\r\n":                                 "-ERR protocol error: a negative number",
		"*x\r\n":                                        "-ERR protocol error: a number of arguments has the character",
		"*1\r\n$99999\r\n":                              "-ERR protocol error: more than 4096 bytes",
		"*100\r\n":                                      "-ERR protocol error: more than 64 arguments",
		strings.Repeat("x", 5000):                       "-ERR protocol error: a line has more than",

		"*1\r\n$99999\r\n" + strings.Repeat("x", 60000): "-ERR protocol error: more than 4096 bytes",
	} {
		if got := talk(t, addr, text); !strings.HasPrefix(got, want) && !(strings.HasPrefix(want, "-NO") &&
			strings.HasPrefix(got, "-NONAMESPACE")) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

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
	noError(t, ours.SetDeadline(time.Now().Add(5*time.Second)))
	s.serveConn(tls.Server(theirs, &tls.Config{}))
	wantErr(t, errOf(ours.Read(make([]byte, 1))), io.EOF, "it is still open")
}
