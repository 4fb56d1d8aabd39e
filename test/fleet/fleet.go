// Package fleet runs generators on leases beside a test that harms their store, and
// audits all they make.
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
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
)

// TTL is that of the fleet's leases: short, so that much happens, and long enough for a
// busy machine.
const TTL = time.Second

// Patience is how long a test waits for what has to come: five minutes, or a quarter of
// what go test gives a package. It comes within seconds, unless something is broken, or
// the machine very busy.
func Patience() time.Duration {
	const most = 5 * time.Minute
	if f := flag.Lookup("test.timeout"); f != nil {
		if d, ok := f.Value.(flag.Getter).Get().(time.Duration); ok && d > 0 {
			return min(most, d/4)
		}
	}
	return most
}

// Eventually tries something until it succeeds, and fails the test when [Patience] is over.
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

// Fleet is some holders of leases and the IDs they made. It is safe for concurrent use.
type Fleet struct {
	t       testing.TB
	scheme  *snowfence.Scheme
	dialect sqlstore.Dialect
	driver  string

	mu    sync.Mutex
	made  map[snowfence.ID]string // by whom
	count map[string]int
}

// New returns a fleet without holders, whose stores are opened by a driver.
func New(t testing.TB, driver string, d sqlstore.Dialect) *Fleet {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	return &Fleet{t: t, scheme: s, dialect: d, driver: driver, made: map[snowfence.ID]string{}, count: map[string]int{}}
}

// Store opens a store with connections of its own, as another process would.
func (f *Fleet) Store(dsn string) (*sql.DB, *sqlstore.Store) {
	f.t.Helper()
	db, err := sql.Open(f.driver, dsn)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, f.dialect)
	if err != nil {
		f.t.Fatal(err)
	}
	return db, st
}

// Namespace makes the namespace that the holders use.
func (f *Fleet) Namespace(dsn string) {
	f.t.Helper()
	_, st := f.Store(dsn)
	if _, err := lease.Namespaces(st).Create(f.t.Context(), "default", f.scheme, &lease.NamespaceOptions{
		MaxTTL: TTL, MaxSkew: TTL,
	}); err != nil {
		f.t.Fatal(err)
	}
}

// Holder is a lease whose generator makes IDs all the time.
type Holder struct {
	f    *Fleet
	name string
	l    *lease.Lease
	g    *snowfence.Generator
	stop context.CancelFunc
	done chan struct{}
}

// Start opens a lease on a node, or on any for −1, and makes IDs until it is stopped.
// Failures to make one are part of the test.
func (f *Fleet) Start(name, dsn string, node int64) *Holder {
	f.t.Helper()
	_, st := f.Store(dsn)
	o := &lease.Options{TTL: TTL, Label: name, Wait: true}
	if node >= 0 {
		o.Node = &node
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), Patience())
	defer cancel()
	h := &Holder{f: f, name: name, done: make(chan struct{})}
	var err error
	if h.l, err = lease.Open(ctx, st, "default", f.scheme, o); err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
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
			f.add(name, ids[:n])
			time.Sleep(2 * time.Millisecond)
		}
	}()
	f.t.Cleanup(func() {
		h.stop()
		<-h.done
		h.l.Orphan()
	})
	return h
}

func (f *Fleet) add(name string, ids []snowfence.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if by, twice := f.made[id]; twice {
			f.t.Errorf("ID %d was made by %s and by %s", id, by, name)
		}
		f.made[id] = name
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

// Grant is what the holder was granted last.
func (h *Holder) Grant() snowfence.Grant { return h.l.Status().Grant }

// Stop stops making IDs and gives the node back as far as the store answers.
func (h *Holder) Stop() {
	h.stop()
	<-h.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.f.t.Context()), 2*time.Second)
	defer cancel()
	_ = h.g.Shutdown(ctx) // the store may be unreachable, which is part of the test
	_ = h.l.Shutdown(ctx)
}

// Raised checks that grants of the namespace start above what a holder was granted by a
// store that has forgotten it. That no ID comes twice is not enough to show it, because a
// slow test leaves time in between.
func (f *Fleet) Raised(dsn string, g snowfence.Grant) {
	f.t.Helper()
	_, st := f.Store(dsn)
	ns, err := lease.Namespaces(st).Show(f.t.Context(), "default")
	if err != nil {
		f.t.Fatal(err)
	}
	if ns.Floor < g.Until {
		f.t.Errorf("the floor is %d, and %d was granted", ns.Floor, g.Until)
	}
}

// Default is the scheme of new namespaces.
func Default(t testing.TB) *snowfence.Scheme {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
