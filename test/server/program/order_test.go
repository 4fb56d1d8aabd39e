//go:build linux

package program

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// skew is the largest skew of the namespace, and how far apart the clocks
// are.
const skew = time.Second

// TestOrder asks two servers of a namespace with one node, all the time.
// The server with the node is killed and frozen again and again, and the
// clocks differ by the largest skew. An answer to a call that began after
// another one ended is higher. The last server to be frozen goes on at
// once: until its clock, which is behind, is where the node was taken over,
// order may break, and not later.
func TestOrder(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	const rounds = 10
	store := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	tests.Run(t, exec.Command(servers.Program(t, servers.Snowfence), "namespace", "create", "clock", "--layout",
		"time=41,seq=22", "--max-skew", skew.String(), "--store", store))
	o := &order{stop: make(chan struct{})}
	pair := []*oracle{newOracle(t, store, true), newOracle(t, store, false)} // the first to be asked is behind
	for _, p := range pair {
		p.awaitReply(t)
	}
	var wg sync.WaitGroup
	for _, p := range pair {
		for range 3 {
			wg.Go(func() { p.askOn(t, o) })
		}
	}
	for range rounds {
		holder, other := o.holder(t, pair)
		began := time.Now()
		holder.Kill()
		o.awaitAnswer(t, other)
		t.Logf("killed: the other server answers after %v", time.Since(began).Round(time.Millisecond))
		holder.Restart(t)
		holder.awaitReply(t)
	}
	for range rounds {
		holder, other := o.holder(t, pair)
		began := time.Now()
		holder.Signal(t, syscall.SIGSTOP)
		o.awaitAnswer(t, other)
		t.Logf("frozen: the other server answers after %v", time.Since(began).Round(time.Millisecond))
		time.Sleep(skew)
		holder.Signal(t, syscall.SIGCONT)
		holder.awaitReply(t)
	}
	if o.keptOrder(t) {
		o.mayBreak(t, pair)
	}
	close(o.stop)
	wg.Wait()
}

// mayBreak freezes the server whose clock is behind, and lets it go on at
// once when the other one answers.
func (o *order) mayBreak(t *testing.T, pair []*oracle) {
	holder, other := o.holder(t, pair)
	if !holder.behind {
		holder.Kill()
		o.awaitAnswer(t, other)
		holder.Restart(t)
		holder.awaitReply(t)
		holder, other = other, holder
	}
	holder.Signal(t, syscall.SIGSTOP)
	o.awaitAnswer(t, other)
	taken := time.Now()
	holder.Signal(t, syscall.SIGCONT)
	time.Sleep(2 * skew)
	holder.awaitReply(t)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.broken {
		if b.begun.After(taken.Add(skew)) {
			t.Errorf("%s, %v after the node was taken over", b.what, b.begun.Sub(taken))
		}
	}
	t.Logf("frozen, and on at once: order broke %d times, within %v", len(o.broken), skew)
}

// order is what all callers saw. It is safe for concurrent use.
type order struct {
	mu      sync.Mutex
	highest int64
	answers int
	by      *oracle // of the highest
	broken  []breach
	stop    chan struct{}
}

// breach is an answer below one that ended before its call began.
type breach struct {
	begun time.Time
	what  string
}

func (o *order) begin() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.highest
}

// end compares the answer to a call with the highest one when it began.
func (o *order) end(by *oracle, begun time.Time, before int64, ids []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		if id <= before {
			o.broken = append(o.broken, breach{begun, fmt.Sprintf("%s gave %d after %d", by.Name, id, before)})
		}
		before = id
		if id > o.highest {
			o.highest, o.by = id, by
		}
	}
	o.answers++
}

// keptOrder fails the test if order broke.
func (o *order) keptOrder(t *testing.T) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.broken[:min(len(o.broken), 5)] {
		t.Error(b.what)
	}
	t.Logf("%d answers", o.answers)
	return len(o.broken) == 0
}

// holder returns the server that answers now, and the other one.
func (o *order) holder(t *testing.T, pair []*oracle) (holder, other *oracle) {
	t.Helper()
	o.awaitAnswer(t, nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == pair[0] {
		return pair[0], pair[1]
	}
	return pair[1], pair[0]
}

// awaitAnswer waits for a new answer of a server, or of any.
func (o *order) awaitAnswer(t *testing.T, by *oracle) {
	t.Helper()
	before := o.begin()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		o.mu.Lock()
		done := o.highest > before && (by == nil || o.by == by)
		o.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no server answers")
		}
	}
}

// oracle is one of the servers.
type oracle struct {
	*servers.Process
	address string
	behind  bool
}

// newOracle starts a server. One that is behind runs unchanged, too: qemu
// runs it, and libfaketime stands between qemu and the system.
func newOracle(t *testing.T, store string, behind bool) *oracle {
	t.Helper()
	ports := servers.Ports(t, 2)
	p := &oracle{address: servers.Address(ports[0]), behind: behind}
	path, name, env := servers.Program(t, servers.Snowfence), "right", []string{"HOME=" + t.TempDir()}
	args := []string{"serve", "--store", store, "--resp", p.address, "--http", servers.Address(ports[1]), "--admin", ""}
	if behind {
		machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		lib, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
		if err != nil || len(lib) == 0 {
			t.Skip("libfaketime is not installed; make test installs it")
		}
		file := filepath.Join(t.TempDir(), "offset")
		must(t, os.WriteFile(file, fmt.Appendf(nil, "-%d", int(skew.Seconds())), 0o600))
		env = append(env, "LD_PRELOAD="+lib[0], "FAKETIME_TIMESTAMP_FILE="+file, "FAKETIME_NO_CACHE=1",
			"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1")
		args = append([]string{path}, args...)
		path, name = servers.Need(t, "qemu", "qemu-"+machine)[0], "behind"
	}
	p.Process = servers.Start(t, name, path, args, env)
	return p
}

// awaitReply waits until the server replies, with IDs or with an error.
func (p *oracle) awaitReply(t *testing.T) {
	t.Helper()
	p.Ready(t, func() error {
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = askBatch(c, bufio.NewReader(c))
		if err != nil && strings.HasPrefix(err.Error(), "-") {
			err = nil
		}
		return err
	})
}

// askOn asks the server until the order is complete. A call to a frozen one
// waits as long as that is.
func (p *oracle) askOn(t *testing.T, o *order) {
	for {
		select {
		case <-o.stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			continue // it was killed
		}
		for r := bufio.NewReader(c); err == nil; time.Sleep(time.Millisecond) {
			begun, before := time.Now(), o.begin()
			var ids []int64
			if ids, err = askBatch(c, r); err == nil {
				o.end(p, begun, before, ids)
			}
			select {
			case <-o.stop:
				err = os.ErrClosed
			default:
			}
		}
		c.Close()
	}
}

// askBatch asks for ten IDs over the Redis protocol.
func askBatch(c net.Conn, r *bufio.Reader) (ids []int64, err error) {
	if _, err := c.Write([]byte("SNOWFENCE.NEXT clock COUNT 10\r\n")); err != nil {
		return nil, err
	}
	line := func() string {
		var s string
		if err == nil {
			s, err = r.ReadString('\n')
		}
		return strings.TrimSpace(s)
	}
	head := line()
	if err == nil && !strings.HasPrefix(head, "*") {
		return nil, fmt.Errorf("%s", head)
	}
	for range 10 {
		kind := line()
		if strings.HasPrefix(kind, "$") {
			kind = ":" + line()
		}
		if err == nil {
			var id int64
			id, err = strconv.ParseInt(strings.TrimPrefix(kind, ":"), 10, 64)
			ids = append(ids, id)
		}
	}
	return ids, err
}
