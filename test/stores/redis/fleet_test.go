//go:build unix

package redis

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

const namespace = "ids"

// ttl of leases whose store is hurt: short, so that all that can happen happens soon.
const ttl = 600 * time.Millisecond

func scheme(t testing.TB) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fleet makes IDs with many leases at a time and looks at all of them.
type fleet struct {
	t       testing.TB
	st      store.Store
	scheme  *snowfence.Scheme
	mu      sync.Mutex
	from    map[snowfence.ID]int // who made it
	last    []time.Time          // when each one did
	excused map[int]bool
	stop    chan struct{}
	wg      sync.WaitGroup
}

func newFleet(t testing.TB, st store.Store) *fleet {
	t.Helper()
	f := &fleet{
		t: t, st: st, scheme: scheme(t), from: map[snowfence.ID]int{}, excused: map[int]bool{},
		stop: make(chan struct{}),
	}
	t.Cleanup(f.end)
	return f
}

func (f *fleet) create() {
	f.t.Helper()
	f.until("the namespace", func() error {
		_, err := lease.Namespaces(f.st).Create(f.t.Context(), namespace, f.scheme, &lease.NamespaceOptions{
			MaxTTL: 5 * ttl, MaxSkew: ttl,
		})
		return err
	})
}

// open opens a lease, as some process would, and tries again while the store is hurt.
func (f *fleet) open(o lease.Options) *lease.Lease {
	f.t.Helper()
	if o.TTL == 0 {
		o.TTL = ttl
	}
	var l *lease.Lease
	f.until("a lease", func() (err error) {
		l, err = lease.Open(f.t.Context(), f.st, namespace, f.scheme, &o)
		return err
	})
	f.t.Cleanup(l.Orphan)
	return l
}

// run lets a new generator over a lease make IDs until the fleet ends, and returns its number.
func (f *fleet) run(l *lease.Lease) int {
	f.t.Helper()
	g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: shared.Patience()})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	who := len(f.last)
	f.last = append(f.last, time.Time{})
	f.mu.Unlock()
	f.wg.Go(func() {
		for {
			select {
			case <-f.stop:
				return
			default:
			}
			var ids []snowfence.ID
			for range 50 {
				id, err := g.TryNext()
				if err != nil {
					break
				}
				ids = append(ids, id)
			}
			f.note(who, ids)
			time.Sleep(500 * time.Microsecond)
		}
	})
	return who
}

func (f *fleet) note(who int, ids []snowfence.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if before, ok := f.from[id]; ok {
			f.t.Errorf("ID %d was made by generator %d and by %d", id, before, who)
		}
		f.from[id] = who
	}
	if len(ids) > 0 {
		f.last[who] = time.Now()
	}
}

// excuse lets working no longer wait for a generator, whose node another one has.
func (f *fleet) excuse(who int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.excused[who] = true
}

// working waits until all generators have made IDs since this was called.
func (f *fleet) working() {
	f.t.Helper()
	start := time.Now()
	f.until("IDs", func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for who, at := range f.last {
			if at.Before(start) && !f.excused[who] {
				return fmt.Errorf("generator %d stands still", who)
			}
		}
		return nil
	})
}

// end stops the generators.
func (f *fleet) end() {
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	f.wg.Wait()
}

// until waits until something succeeds.
func (f *fleet) until(what string, do func() error) { f.t.Helper(); shared.Eventually(f.t, what, do) }

// relay hands connections on to a server, which can be exchanged behind the clients' backs.
type relay struct {
	l      net.Listener
	mu     sync.Mutex
	target string
	deaf   bool // the next reply goes nowhere, and its connection is closed instead
	conns  map[net.Conn]bool
	// what it answers itself, instead of the server; nil hands on. Set before the first connection
	answer func(asked []byte) []byte
	alter  func(reply []byte) []byte // what becomes of replies
}

func newRelay(t testing.TB, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, target: target, conns: map[net.Conn]bool{}}
	go r.serve()
	t.Cleanup(func() {
		_ = l.Close() // ends serve
		r.turn("")
	})
	return r
}

func (r *relay) serve() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		go r.hand(c)
	}
}

// turn sends later connections to another server and ends the present ones.
func (r *relay) turn(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	for c := range r.conns {
		_ = c.Close() // it may be closed already
	}
	clear(r.conns)
}

// deafen closes a connection instead of handing the next reply on.
func (r *relay) deafen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = true
}

func (r *relay) hand(c net.Conn) {
	defer c.Close()
	r.mu.Lock()
	target := r.target
	r.mu.Unlock()
	up, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer up.Close()
	r.mu.Lock()
	if r.target != target {
		r.mu.Unlock()
		return
	}
	r.conns[c], r.conns[up] = true, true
	r.mu.Unlock()
	go func() {
		defer up.Close()
		if r.answer == nil {
			_, _ = io.Copy(up, c) // the end of either side ends both
			return
		}
		for b := make([]byte, 1<<16); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			to, text := net.Conn(up), b[:n]
			if own := r.answer(text); own != nil {
				to, text = c, own
			}
			if _, err := to.Write(text); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	for {
		n, err := up.Read(b)
		r.mu.Lock()
		deaf := r.deaf && err == nil
		r.deaf = r.deaf && !deaf
		r.mu.Unlock()
		if err != nil || deaf {
			return
		}
		reply := b[:n]
		if r.alter != nil {
			reply = r.alter(reply)
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

func (r *relay) address() string { return r.l.Addr().String() }

// short bounds a call to a store that is hurt.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
