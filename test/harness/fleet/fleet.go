// Package fleet runs generators on leases beside a test that harms their
// store, and audits all they make.
package fleet

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

var must = tests.NoError

// TTL is the ttl of the fleet's leases: short, so that much happens, and
// long enough for a busy machine.
const TTL = time.Second

// Fleet is some holders of leases and the IDs they made. It is safe for
// concurrent use.
type Fleet struct {
	t      testing.TB
	scheme *snowfence.Scheme
	open   func(dsn string) store.Store

	mu      sync.Mutex
	holders []*Holder
	makers  map[snowfence.ID]string // by whom
	count   map[string]int
}

// New returns a fleet without holders. Each opens a store of its own, as
// another process would.
func New(t testing.TB, open func(dsn string) store.Store) *Fleet {
	t.Helper()
	return &Fleet{
		t: t, scheme: Scheme(t, "twitter"), open: open, makers: map[snowfence.ID]string{}, count: map[string]int{},
	}
}

// SQL opens stores by a driver of databases.
func SQL(t testing.TB, driver string, d sqlstore.Dialect) func(dsn string) store.Store {
	return func(dsn string) store.Store {
		t.Helper()
		db, err := sql.Open(driver, dsn)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		st, err := sqlstore.New(db, d)
		must(t, err)
		return st
	}
}

// Namespace makes the namespace that the holders use, if it is not there.
// Floors are raised by little, so that no test waits for long.
func (f *Fleet) Namespace(dsn string) {
	f.t.Helper()
	st, o := f.open(dsn), &scope.NamespaceOptions{MaxTTL: 2 * TTL, MaxSkew: TTL}
	Eventually(f.t, "the namespace", func() error {
		_, err := scope.Namespaces(st).Create(f.t.Context(), "default", f.scheme, o)
		return err
	})
}

// Show reads the namespace, as soon as the store lets it.
func (f *Fleet) Show(dsn string) (ns scope.Namespace) {
	f.t.Helper()
	st := f.open(dsn)
	Eventually(f.t, "the namespace", func() (err error) {
		ns, err = scope.Namespaces(st).Show(f.t.Context(), "default")
		return err
	})
	return ns
}

// Grow starts holders of any nodes.
func (f *Fleet) Grow(n int, dsn string) {
	f.t.Helper()
	for range n {
		f.mu.Lock()
		name := fmt.Sprint("holder ", len(f.holders), " of ", len(f.count))
		f.mu.Unlock()
		f.Start(name, dsn, -1)
	}
}

// Renewed waits until each holder was renewed twice, and has made IDs
// since.
func (f *Fleet) Renewed() {
	f.t.Helper()
	for range 2 {
		for _, h := range f.holders {
			h.Renewed()
		}
	}
	for _, h := range f.holders {
		h.More()
	}
}

// Crash ends all holders as a crash does: nothing is given back.
func (f *Fleet) Crash() {
	for _, h := range f.holders {
		h.crash()
	}
	f.holders = nil
}

// Holder is a lease with a generator that makes IDs all the time.
type Holder struct {
	f    *Fleet
	name string
	l    *lease.Lease
	g    *snowfence.Generator
	stop context.CancelFunc
	done chan struct{}
}

// Start opens a lease on a node (-1 for any), and makes IDs until Stop. A
// failure to make one does not fail the test.
func (f *Fleet) Start(name, dsn string, node int64) *Holder {
	f.t.Helper()
	st := f.open(dsn)
	o := &lease.Options{TTL: TTL, Label: name, Wait: true}
	if node >= 0 {
		o.Node = &node
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), Patience())
	defer cancel()
	h := &Holder{f: f, name: name, done: make(chan struct{})}
	var err error
	Eventually(f.t, name+" has a lease", func() (err error) { // a busy machine answers late
		h.l, err = lease.Open(ctx, st, "default", f.scheme, o)
		return err
	})
	if h.g, err = snowfence.New(snowfence.Config{Fence: h.l, MaxWait: Patience()}); err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	var run context.Context
	run, h.stop = context.WithCancel(context.WithoutCancel(f.t.Context()))
	go func() {
		defer close(h.done)
		for run.Err() == nil {
			ids := make([]snowfence.ID, 50)
			n, _ := h.g.Fill(run, ids) // without a grant there are none
			f.addIDs(name, ids[:n])
			time.Sleep(2 * time.Millisecond)
		}
	}()
	f.t.Cleanup(h.crash)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holders = append(f.holders, h)
	return h
}

func (h *Holder) crash() {
	h.stop()
	<-h.done
	h.l.Orphan()
}

func (f *Fleet) addIDs(name string, ids []snowfence.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if by, twice := f.makers[id]; twice {
			f.t.Errorf("ID %d was made by %s and by %s", id, by, name)
		}
		f.makers[id] = name
	}
	f.count[name] += len(ids)
}

// Made is how many IDs the holder made.
func (h *Holder) Made() int {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	return h.f.count[h.name]
}

// More waits until the holder has made some more IDs.
func (h *Holder) More() {
	h.f.t.Helper()
	goal := h.Made() + 500
	Eventually(h.f.t, h.name+" makes IDs", func() error {
		if h.Made() < goal {
			return fmt.Errorf("%+v, %v", h.l.Status(), h.l.Err())
		}
		return nil
	})
}

// Renewed waits until the store acknowledged a later grant, and returns it.
func (h *Holder) Renewed() snowfence.Grant {
	h.f.t.Helper()
	before := h.l.Status().Grant.Until
	Eventually(h.f.t, h.name+" is renewed", func() error {
		if s := h.l.Status(); s.Grant.Until <= before {
			return fmt.Errorf("%+v, %v", s, h.l.Err())
		}
		return nil
	})
	return h.l.Status().Grant
}

// Status is the state of the holder's lease.
func (h *Holder) Status() lease.Status { return h.l.Status() }

// Last is the highest tick of which the holder made an ID.
func (h *Holder) Last() (tick int64) {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	for id, by := range h.f.makers {
		if p, err := h.f.scheme.Decode(id); err == nil && by == h.name {
			tick = max(tick, p.Tick)
		}
	}
	return tick
}

// Grant is the last grant of the holder.
func (h *Holder) Grant() snowfence.Grant { return h.l.Status().Grant }

// Stop stops making IDs and gives the node back as far as the store
// answers.
func (h *Holder) Stop() {
	h.stop()
	<-h.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.f.t.Context()), 2*time.Second)
	defer cancel()
	_ = h.g.Shutdown(ctx) // the store may be unreachable, which is part of the test
	_ = h.l.Shutdown(ctx)
}

// Raised checks that grants of the namespace start above a grant that the
// store has forgotten. That no ID comes twice is not enough to show it,
// because a slow test leaves time in between.
func (f *Fleet) Raised(dsn string, g snowfence.Grant) {
	f.t.Helper()
	ns := f.Show(dsn)
	if ns.Floor < g.Until {
		f.t.Errorf("the floor is %d, and %d was granted", ns.Floor, g.Until)
	}
}

// Default is the scheme of new namespaces.
func Default(t testing.TB) *snowfence.Scheme { return Scheme(t, "snowfence") }

// Scheme is the scheme of a layout without a secret, by its name or parts.
func Scheme(t testing.TB, layout string) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout(layout)
	must(t, err)
	s, err := snowfence.NewScheme(l)
	must(t, err)
	return s
}

// Eventually tries something until it succeeds, and fails the test when
// [Patience] is over.
func Eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Since(start) > Patience() {
			t.Fatalf("%s: still not after %v: %v", what, Patience(), err)
		}
	}
}

// Patience is how long a test waits for an event: five minutes, or a
// quarter of what go test gives a package. It comes within seconds, unless
// something is broken, or the machine very busy.
func Patience() time.Duration {
	const most = 5 * time.Minute
	if f := flag.Lookup("test.timeout"); f != nil {
		if d, ok := f.Value.(flag.Getter).Get().(time.Duration); ok && d > 0 {
			return min(most, d/4)
		}
	}
	return most
}
