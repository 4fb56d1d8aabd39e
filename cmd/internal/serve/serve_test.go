package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// While the store is unreachable the server is alive, not ready, and makes
// IDs for as long as its fence allows, and never the same twice; when the
// store is back, all is as before.
func TestStoreCutOff(t *testing.T) {
	st := newStore(t)
	p, logs := start(t, Config{
		Listeners: Listeners{Admin: "127.0.0.1:0"},
		Options:   server.Options{TTL: 2 * time.Second, MaxWait: 10 * time.Millisecond},
	}, st)
	base, admin := "http://"+p.HTTP, "http://"+p.Admin
	eventually(t, "ready", func() bool { code, _ := get(t, base+"/readyz", ""); return code == http.StatusOK })
	seen := map[string]bool{}
	take := func() bool {
		code, id := get(t, base+"/v1/default/next", "")
		if code != http.StatusOK {
			if code != http.StatusServiceUnavailable {
				t.Fatalf("status %d: %s", code, id)
			}
			return false
		}
		if seen[id] {
			t.Fatalf("%s was given out twice", id)
		}
		seen[id] = true
		return true
	}
	eventually(t, "an ID", take)
	st.cut.Store(true)
	eventually(t, "not ready", func() bool {
		code, _ := get(t, base+"/readyz", "")
		return code == http.StatusServiceUnavailable
	})
	sp := must(p.Service().Spaces.Find(t.Context(), "default"))
	// On a slow machine the grant may be over by now; then nothing is
	// checked.
	grant, _ := sp.Own.Status()
	if l := snowfence.MustLayout("twitter"); !take() &&
		time.Now().Before(l.TimeOf(grant.Grant.Until).Add(-time.Millisecond)) {
		t.Error("no ID inside the grant")
	}
	eventually(t, "the fence ends", func() bool { return !take() })
	until := snowfence.MustLayout("twitter").TimeOf(grant.Grant.Until)
	if time.Now().Before(until.Add(-200 * time.Millisecond)) {
		t.Errorf("IDs ended before the fence, %v", until)
	}
	if code, _ := get(t, base+"/healthz", ""); code != http.StatusOK {
		t.Errorf("liveness %d", code)
	}
	code, cause := get(t, admin+"/readyz", "")
	if code != http.StatusServiceUnavailable || !strings.Contains(cause, "network is down") {
		t.Errorf("%d %s", code, cause)
	}
	if _, cause := get(t, base+"/readyz", ""); strings.Contains(cause, "network is down") {
		t.Errorf("everybody sees the cause: %s", cause)
	}
	if _, text := get(t, admin+"/metrics", ""); !strings.Contains(text, "snowfence_ready 0\n") || !strings.Contains(text, `snowfence_lease_held{namespace="default"} 0`) {
		t.Error("the metrics do not say so")
	}
	st.cut.Store(false)
	eventually(t, "ready again", func() bool { code, _ := get(t, base+"/readyz", ""); return code == http.StatusOK })
	eventually(t, "IDs again", take)
	if text := logs.String(); !strings.Contains(text, "not ready") || !strings.Contains(text, "msg=ready") {
		t.Errorf("the log does not say so:\n%s", text)
	}
}

// A namespace that cannot be leased makes the server not ready only where
// it was named, or is the only one.
func TestReadyFor(t *testing.T) {
	st := newStore(t)
	p, _ := start(t, Config{ReadyFor: []string{"orders", "default"}}, st)
	eventually(t, "a verdict", func() bool { return p.Ready() != errStarting })
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "orders") {
		t.Fatalf("ready for a namespace that does not exist: %v", err)
	}
	if sp := p.Service().Spaces.List(); len(sp) != 1 || !strings.Contains(sp[0].Name, "default") {
		t.Error("the trouble of one namespace keeps the server from another")
	}
	if p.Service().Ready(t.Context()) == nil { // what the health service of gRPC says
		t.Error("the service says something else than the server")
	}
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "orders", s, nil))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	if len(p.Service().Spaces.List()) != 2 {
		t.Error("a namespace was opened that was not named")
	}
	none, _ := start(t, Config{}, store.NewMemory())
	eventually(t, "ready without namespaces", func() bool { return none.Ready() == nil })
}

// A stop gives nodes back, ends streams, and lets a request that waits
// finish; all within its bound although a client does not take its answer.
func TestStop(t *testing.T) {
	for bound := 2 * time.Second; ; bound *= 2 { // a busy machine may need longer for its part
		err := stopWithin(t, bound)
		if err == nil {
			return
		}
		if bound > patienceOfTests/2 {
			t.Fatal(err)
		}
	}
}

// stopWithin stops a server with clients within a bound, and returns an
// error if it took longer.
func stopWithin(t *testing.T, bound time.Duration) error {
	t.Helper()
	st := newStore(t)
	p, _ := start(t, Config{Listeners: Listeners{RESP: "127.0.0.1:0"}, Stopping: Stopping{Stop: 2 * time.Second}}, st)
	base := "http://" + p.HTTP
	stuck, err := net.Dial("tcp", p.HTTP) // asks for a stream and reads nothing
	noError(t, err)
	defer stuck.Close()
	fmt.Fprintf(stuck, "GET /v1/default/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	var made int64
	eventually(t, "the server waits for that client", func() bool { // it is, when it makes no more IDs
		sp := must(p.Service().Spaces.Find(t.Context(), "default"))
		before := made
		made = sp.Made.Load()
		time.Sleep(20 * time.Millisecond)
		return made > 0 && made == before
	})
	streamEnd := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		res, err := http.Get(base + "/v1/default/stream")
		if err != nil {
			streamEnd <- err
			return
		}
		defer res.Body.Close()
		r := bufio.NewReader(res.Body)
		_, err = r.ReadString('\n')
		close(began)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		streamEnd <- err
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := p.Stop(ctx); err != nil || ctx.Err() != nil {
		return errors.Join(fmt.Errorf("the stop took longer than %v", bound), err)
	}
	wantErr(t, <-streamEnd, nil, "the stream was broken off")
	rs, _, err := st.List(t.Context(), "default", snowfence.NodeRange{Until: 1024}, 1<<20)
	if err != nil || len(rs) == 0 {
		t.Fatalf("%d records, %v", len(rs), err)
	}
	for _, r := range rs {
		if r.Holder != "" {
			t.Fatalf("node %d was not given back", r.Node)
		}
	}
	if p.Ready() == nil {
		t.Error("a server that stopped is ready")
	}
	return nil
}

// Before a stop the server is not ready, and serves on, for as long as it
// was told.
func TestDrain(t *testing.T) {
	p, _ := start(t, Config{Stopping: Stopping{Drain: time.Hour}}, newStore(t))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { p.Drain(ctx); close(left) }()
	eventually(t, "not ready", func() bool {
		code, _ := get(t, "http://"+p.HTTP+"/readyz", "")
		return code != http.StatusOK
	})
	if code, body := get(t, "http://"+p.HTTP+"/v1/default/next", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	cancel()
	<-left
}

// Connections beyond the limit are refused in words, and those who leave
// make room.
func TestConnectionLimit(t *testing.T) {
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0"}, Limits: Limits{MaxConns: 2}}, newStore(t))
	var conns []net.Conn
	dial := func() net.Conn {
		c := must(net.Dial("tcp", p.HTTP))
		t.Cleanup(func() { c.Close() })
		return c
	}
	for range 2 {
		c := dial()
		fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q %v", line, err)
		}
		conns = append(conns, c)
	}
	answer, err := io.ReadAll(dial())
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") {
		t.Errorf("%q %v", answer, err)
	}
	if _, text := get(t, "http://"+p.Admin+"/metrics", ""); !strings.Contains(text, `snowfence_connections_refused_total{wire="http"} 1`) {
		t.Error("the refused connection was not counted")
	}
	conns[0].Close()
	eventually(t, "room again", func() bool {
		c := dial()
		defer c.Close()
		fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.Contains(line, "200")
	})
}

// While renewals fail and IDs go on, the server is ready, and says what is
// late.
func TestLateRenewal(t *testing.T) {
	st := newStore(t)
	p, _ := start(t, Config{
		Listeners: Listeners{Admin: "127.0.0.1:0"}, Options: server.Options{TTL: 15 * time.Second},
	}, st)
	says := func(base, want string) func() bool {
		return func() bool {
			code, text := get(t, base+"/readyz", "")
			return code == http.StatusOK && strings.Contains(text, want)
		}
	}
	eventually(t, "ready", says("http://"+p.Admin, "ok\n"))
	st.full.Store(true)
	eventually(t, "late", func() bool {
		return says("http://"+p.Admin, "is late: lease: writing node")() &&
			says("http://"+p.HTTP, "the log of the server")()
	})
	st.full.Store(false)
	eventually(t, "in time", says("http://"+p.Admin, "ok\n"))
}

// A client that sends half a body, or takes nothing of a large answer, is
// cut off; one that keeps up is not, however long its stream.
func TestSlowClients(t *testing.T) {
	p, _ := start(t, Config{Limits: Limits{Slow: time.Second}}, newStore(t))
	half := must(net.Dial("tcp", p.HTTP))
	defer half.Close()
	fmt.Fprintf(half, "PUT /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	_ = half.SetReadDeadline(time.Now().Add(patienceOfTests))
	answer, err := io.ReadAll(half)
	if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 2") {
		t.Errorf("half a body: %q, %v", answer, err)
	}
	still := must(net.Dial("tcp", p.HTTP))
	defer still.Close()
	fmt.Fprintf(still, "GET /v1/default/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	eventually(t, "the client that takes nothing is cut off", func() bool { return openHTTP(p) == 0 })
	eventually(t, "a stream that lasts, of a client that keeps up", func() bool {
		longest, err := streamFor(t, p, 2500*time.Millisecond)
		if err != nil && longest < 250*time.Millisecond {
			t.Fatalf("a client that keeps up was cut off: %v, its longest pause was %v", err, longest)
		}
		return err == nil // a client that had to wait for its processor did not keep up
	})
}

// streamFor reads a stream for a while, and returns the longest time
// between two reads.
func streamFor(t *testing.T, p *Process, d time.Duration) (longest time.Duration, err error) {
	t.Helper()
	res, err := http.Get("http://" + p.HTTP + "/v1/default/stream")
	noError(t, err)
	defer res.Body.Close()
	buf := make([]byte, 64<<10)
	began := time.Now()
	for last := began; last.Sub(began) < d && err == nil; {
		_, err = res.Body.Read(buf)
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	return longest, err
}

// openHTTP is how many connections of HTTP there are.
func openHTTP(p *Process) int64 { return p.service.Meter(server.HTTP).Connections.Load() }

// systemd is told that the server is ready, alive, and stops.
func TestNotify(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	c := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}))
	defer c.Close()
	var mu sync.Mutex
	heard := map[string]bool{}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			mu.Lock()
			for line := range strings.SplitSeq(string(buf[:n]), "\n") {
				heard[line] = true
			}
			mu.Unlock()
		}
	}()
	hears := func(state string) {
		t.Helper()
		eventually(t, state, func() bool { mu.Lock(); defer mu.Unlock(); return heard[state] })
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "20000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	p, _ := start(t, Config{}, newStore(t))
	for _, state := range []string{"READY=1", "WATCHDOG=1", "STATUS=ready"} {
		hears(state)
	}
	p.Drain(t.Context())
	hears("STOPPING=1")
}

func TestClockSteps(t *testing.T) {
	var c ClockSteps
	for _, step := range []time.Duration{0, time.Millisecond, -49 * time.Millisecond, time.Second, -time.Hour} {
		c.record(step)
	}
	if c.Back.Load() != 1 || c.Forward.Load() != 1 || time.Duration(c.Last.Load()) != -time.Hour {
		t.Errorf("%d back, %d forward, last %v", c.Back.Load(), c.Forward.Load(), time.Duration(c.Last.Load()))
	}
	now := time.Now()
	if c.stepSince(now) != 0 || c.stepSince(now.Add(time.Second)) != 0 {
		t.Error("a clock that runs well stepped")
	}
	c.wall = c.wall.Add(time.Minute) // as if the wall clock had been a minute later at the last look
	if step := c.stepSince(now.Add(2 * time.Second)); step != -time.Minute {
		t.Errorf("a step of %v", step)
	}
}

// One token took all connections of HTTP. Now its next one is refused and
// closed, and another token finds a place.
func TestShareOfATokenOverHTTP(t *testing.T) {
	tokens := []server.Token{token("shop", "secret-shop"), token("cart", "secret-cart")}
	p, _ := start(t, Config{Access: Access{TokenList: tokens}, Limits: Limits{MaxConns: 5}}, newStore(t))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	one := func(secret string) *http.Response {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{}} // each has a connection of its own
		t.Cleanup(client.CloseIdleConnections)
		req := must(http.NewRequestWithContext(t.Context(), "GET", "http://"+p.HTTP+"/v1/default", nil))
		req.Header.Set("Authorization", "Bearer "+secret)
		res := must(client.Do(req))
		must(io.Copy(io.Discard, res.Body))
		res.Body.Close()
		return res
	}
	for range 4 {
		if res := one("secret-shop"); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	if res := one("secret-shop"); res.StatusCode != 429 || !res.Close {
		t.Errorf("%s, closed: %v", res.Status, res.Close)
	}
	eventually(t, "the place is free", func() bool { return openHTTP(p) == 4 })
	if res := one("secret-cart"); res.StatusCode != 200 {
		t.Errorf("another token: %s", res.Status)
	}
}
