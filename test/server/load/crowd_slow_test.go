package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slowKind is a way to keep a server busy.
type slowKind struct {
	name string
	http bool
	send string // at once
	drip string // and this again and again, a byte at a time; "" is nothing more
	most bool   // takes the beginning of the answer and no more; otherwise the client reads what comes
}

// slowKinds are clients that the server must drop by itself.
var slowKinds = []slowKind{
	{name: "HTTP without a request", http: true},
	{name: "headers byte by byte", http: true, send: "GET /v1/default/next HTTP/1.1\r\n" + host, drip: "X-A: b\r\n"},
	{name: "a body byte by byte", http: true, send: "PUT /v1/slow HTTP/1.1\r\n" + host + "Content-Length: 60000\r\n\r\n", drip: " "},
	{name: "a stream that is not read", http: true, send: "GET /v1/default/stream HTTP/1.1\r\n" + host + "\r\n", most: true},
	{name: "HTTP/2 without settings", http: true, send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{name: "a command byte by byte", send: "*2\r\n$14\r\nSNOWFENCE.NEXT\r\n$600\r\n", drip: "x"},
	{name: "a command that ends in the middle", send: "*2\r\n$14\r\nSNOWF"},
	{name: "replies that are not read", send: strings.Repeat(command("SNOWFENCE.NEXT", "default", "COUNT", "1000"), 1000), most: true},
}

// hoarders ask for answers so large that they do not fit into what the
// system keeps for a connection. The server gives a request the time that
// its own work may take, too.
var hoarders = []slowKind{
	{name: "a large answer that is not read", http: true, send: "GET /v1/default/next?n=1000000 HTTP/1.1\r\n" + host + "\r\n", most: true},
	{name: "a large reply that is not read", send: command("SNOWFENCE.NEXT", "default", "COUNT", "1000000"), most: true},
}

// slow are clients of all kinds.
type slow struct {
	names []string
	gone  chan struct{} // closed when the server has as few connections as before them
	once  func()
	done  sync.WaitGroup
	seen  sync.WaitGroup // until each was served the beginning of its answer

	mu   sync.Mutex
	errs []error

	server *crowded
	before usage
}

func startSlow(t *testing.T, s *crowded, n size) *slow {
	t.Helper()
	c := &slow{gone: make(chan struct{}), server: s, before: s.usage(t)}
	c.once = sync.OnceFunc(func() { close(c.gone) })
	var conns []net.Conn
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close() // its goroutine may have closed it
		}
		c.once()
		c.done.Wait()
	})
	kinds := slowKinds
	if n.hoard {
		kinds = append(kinds[:len(kinds):len(kinds)], hoarders...)
	}
	for _, k := range kinds {
		c.names = append(c.names, k.name)
	}
	for i := range n.slow {
		k := kinds[i%len(kinds)]
		address := s.resp
		if k.http {
			address = s.http
		}
		conn, err := connect(address, crowdCaller, k.http)
		must(t, err)
		conns = append(conns, conn)
		c.seen.Add(1)
		c.done.Go(func() {
			defer conn.Close()
			if err := c.play(conn, k); err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.errs = append(c.errs, fmt.Errorf("%s: %w", k.name, err))
			}
		})
	}
	return c
}

// play is one client. It returns nil when the server ended the connection.
func (c *slow) play(conn *net.TCPConn, k slowKind) error {
	served := sync.OnceFunc(c.seen.Done)
	defer served()
	_ = conn.SetReadBuffer(4 << 10) // a hint: what is not taken stays with the server
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, k.send); err != nil {
		return ended(err)
	}
	if k.most {
		var head [len("HTTP/1.1 429")]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil || head[0] == '-' || string(head[:]) == "HTTP/1.1 429" {
			// the connection has ended already, on a busy machine, or the
			// server has as many large answers on their way as it wants
			return ended(err)
		}
		served()
		<-c.gone
		return nil
	}
	served()
	if k.drip != "" {
		for i := 0; ; i++ {
			if _, err := conn.Write([]byte{k.drip[i%len(k.drip)]}); err != nil {
				return ended(err)
			}
			time.Sleep(patienceWithSlow / 20) // how slow the client is
		}
	}
	_, err := io.Copy(io.Discard, conn)
	return ended(err)
}

// ended is nil for the errors of a connection that the other side has
// ended.
func ended(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the server still waits")
	}
	return err
}

// kinds names them.
func (c *slow) kinds() string { return fmt.Sprint(len(c.names), " kinds") }

// allCutOff waits until the server has let all of them go.
func (c *slow) allCutOff(t *testing.T) {
	t.Helper()
	c.seen.Wait()
	waitFor(t, "slow clients are cut off", func() bool {
		page := c.server.ask(t, "/metrics")
		return number(t, page, `snowfence_connections{wire="http"} `) <= c.before.http && number(t, page, `snowfence_connections{wire="resp"} `) <= c.before.resp
	}, func() string { return c.server.ask(t, "/debug/pprof/goroutine?debug=1")[:4000] })
	c.once()
	c.done.Wait()
	for _, err := range c.errs {
		t.Error(err)
	}
}
