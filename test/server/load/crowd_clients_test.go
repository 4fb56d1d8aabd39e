package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// command is one of the Redis protocol.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

var askRESP = command("SNOWFENCE.NEXT", "default")

// Callers, who are their tokens, too: each has a share of the server.
const crowdCaller, ordinaryCaller = "crowd", "shop"

// host is the header of the crowd's requests.
const host = "Host: localhost\r\nAuthorization: Bearer " + crowdCaller + "\r\n"

// connect waits long, because the machine may be busy.
func connect(address, caller string, speaksHTTP bool) (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		return nil, err
	}
	if !speaksHTTP {
		if _, err = io.WriteString(c, command("AUTH", caller)); err == nil {
			_, err = io.ReadFull(c, make([]byte, len("+OK\r\n")))
		}
	}
	return c.(*net.TCPConn), err
}

// peer is a connection by which IDs are asked for one after the other.
type peer struct {
	net.Conn
	r      *bufio.Reader
	caller string
	http   bool
}

func dial(address, caller string, speaksHTTP bool) (*peer, error) {
	c, err := connect(address, caller, speaksHTTP)
	if err != nil {
		return nil, err
	}
	return &peer{c, bufio.NewReaderSize(c, 512), caller, speaksHTTP}, nil
}

// next asks for n IDs.
func (p *peer) next(n int) ([]string, error) {
	ask := askRESP
	switch {
	case p.http:
		ask = fmt.Sprintf("GET /v1/default/next?n=%d HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Accept: text/plain\r\n\r\n", n, p.caller)
	case n > 1:
		ask = command("SNOWFENCE.NEXT", "default", "COUNT", strconv.Itoa(n))
	}
	if err := p.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(p, ask); err != nil {
		return nil, err
	}
	if !p.http {
		return p.replies(n)
	}
	res, err := http.ReadResponse(p.r, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if ids := strings.Fields(string(b)); err != nil || res.StatusCode == http.StatusOK && len(ids) == n {
		return ids, err
	}
	return nil, fmt.Errorf("%s: %s", res.Status, b)
}

// replies reads n IDs.
func (p *peer) replies(n int) (ids []string, err error) {
	if n > 1 {
		line, err := p.r.ReadString('\n')
		if err != nil || line != fmt.Sprintf("*%d\r\n", n) {
			return nil, errors.Join(err, errors.New("a reply: "+line))
		}
	}
	for range n {
		id, err := p.reply()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// reply reads a bulk string.
func (p *peer) reply() (string, error) {
	line, err := p.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(line, "$") {
		return "", errors.New("a reply: " + line)
	}
	line, err = p.r.ReadString('\n')
	return strings.TrimSpace(line), err
}

// ordinary is a client of each wire that asks for IDs, all the time and
// without hurry.
type ordinary struct {
	end  chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex
	took []time.Duration
	errs []error
	seen map[string]bool
}

func startOrdinary(t *testing.T, s *crowded) *ordinary {
	t.Helper()
	o := &ordinary{end: make(chan struct{}), seen: map[string]bool{}}
	for _, address := range []string{s.http, s.resp} {
		p, err := dial(address, ordinaryCaller, address == s.http)
		must(t, err)
		o.done.Go(func() {
			defer p.Close()
			for i := 0; ; i++ {
				select {
				case <-o.end:
					return
				case <-time.After(2 * time.Millisecond):
				}
				n := 1
				if i%4 == 0 {
					n = 10
				}
				began := time.Now()
				ids, err := p.next(n)
				o.note(ids, time.Since(began), err)
				if err != nil {
					return
				}
			}
		})
	}
	t.Cleanup(o.leave)
	return o
}

func (o *ordinary) note(ids []string, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		if o.seen[id] {
			err = errors.New("an ID came twice: " + id)
		}
		o.seen[id] = true
	}
	if err != nil {
		o.errs = append(o.errs, err)
		return
	}
	o.took = append(o.took, took)
}

// mark is a moment.
func (o *ordinary) mark() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.took)
}

// since returns how long requests took since a moment, of which there have
// to be some, and no other that failed.
func (o *ordinary) since(t *testing.T, mark int) []time.Duration {
	t.Helper()
	if o.mark() == mark {
		t.Error("ordinary clients were not served")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, err := range o.errs {
		t.Fatalf("an ordinary client: %v", err)
	}
	return append([]time.Duration(nil), o.took[mark:]...)
}

// rest waits for some more requests.
func (o *ordinary) rest(t *testing.T, n size) []time.Duration {
	t.Helper()
	from := o.mark()
	waitFor(t, "ordinary clients are served",
		func() bool { return o.mark() >= from+n.rounds || o.failed() }, func() string { return "" })
	return o.since(t, from)
}

func (o *ordinary) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.errs) > 0
}

func (o *ordinary) leave() {
	select {
	case <-o.end:
	default:
		close(o.end)
	}
	o.done.Wait()
}

func (o *ordinary) stop(t *testing.T) {
	t.Helper()
	o.leave()
	o.since(t, 0)
}

// idle are connections that were used once.
type idle struct {
	peers []*peer
	used  time.Time
}

func openIdle(t *testing.T, s *crowded, n int) *idle {
	t.Helper()
	c := &idle{peers: make([]*peer, n)}
	t.Cleanup(c.close)
	c.each(t, func(i int) (err error) {
		address := s.resp
		if i%2 == 0 {
			address = s.http
		}
		if c.peers[i], err = dial(address, crowdCaller, i%2 == 0); err == nil {
			_, err = c.peers[i].next(1)
		}
		return err
	})
	return c
}

// each does something for all connections, some at a time.
func (c *idle) each(t *testing.T, do func(i int) error) {
	t.Helper()
	const workers = 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(c.peers); i += workers {
				if err := do(i); err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	c.used = time.Now()
	if t.Failed() {
		t.FailNow()
	}
}

// grow has each client of the Redis protocol send a pipeline as large as
// the server's buffers grow.
func grow(t *testing.T, c *idle) {
	t.Helper()
	count := 64<<10/len(askRESP) + 1
	pipeline := strings.Repeat(askRESP, count)
	c.each(t, func(i int) error {
		p := c.peers[i]
		if p.http {
			return nil
		}
		if err := p.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := io.WriteString(p, pipeline); err != nil {
			return err
		}
		for range count {
			if _, err := p.reply(); err != nil {
				return err
			}
		}
		return nil
	})
}

// stillServed asks for an ID on each connection. Connections of HTTP end
// after two minutes of silence, which is a matter of time and not of the
// crowd.
func (c *idle) stillServed(t *testing.T) {
	t.Helper()
	late := time.Since(c.used) > time.Minute
	c.each(t, func(i int) error {
		if _, err := c.peers[i].next(1); err != nil && !(late && c.peers[i].http) {
			return err
		}
		return nil
	})
}

func (c *idle) close() {
	for _, p := range c.peers {
		if p != nil {
			_ = p.Close() // it may be closed already
		}
	}
}
