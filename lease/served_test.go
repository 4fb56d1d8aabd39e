package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// desk is a server in the same process. Its clock is the system's.
type desk struct {
	*testing.T
	mu     sync.Mutex // of what follows, and held during each call
	st     store.Store
	scheme *snowfence.Scheme
	calls  []string
	asked  []wire.Request
	lost   int               // so many of the next answers get lost
	change func(*wire.Lease) // what it says in place of the truth; nil changes nothing
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, st: store.NewMemory()}
	d.scheme = d.schemeOf("twitter")
	d.namespace(3)
	return d
}

func (d *desk) schemeOf(layout string, keys ...*snowfence.Secret) *snowfence.Scheme {
	d.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout(layout), keys...)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

// namespace makes the namespace n with so many leasable nodes.
func (d *desk) namespace(nodes int64) {
	d.Helper()
	o := &lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: nodes}}
	if _, err := lease.Namespaces(d.st).Create(d.Context(), "n", d.scheme, o); err != nil {
		d.Fatal(err)
	}
}

var errDesk = errors.New("no answer")

func (d *desk) server() wire.Server { return lease.Serve(d.st, d.scheme, nil) }

func (d *desk) answer(a wire.Lease, err error) (wire.Lease, error) {
	if d.lost > 0 {
		d.lost--
		return wire.Lease{}, errDesk
	}
	if err == nil && d.change != nil {
		d.change(&a)
	}
	return a, err
}

func (d *desk) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.asked = append(d.calls, "acquire"), append(d.asked, r)
	return d.answer(d.server().Acquire(ctx, name, r))
}

func (d *desk) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "renew")
	return d.answer(d.server().Renew(ctx, t, attempt, earlier))
}

func (d *desk) Release(ctx context.Context, t wire.Ticket, used int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "release")
	_, err := d.answer(wire.Lease{}, d.server().Release(ctx, t, used))
	return err
}

// set changes the desk while leases use it.
func (d *desk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// called returns the calls so far, and the last request.
func (d *desk) called() (calls []string, last wire.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls), d.asked[len(d.asked)-1]
}

func (d *desk) keep(o *lease.Options) *lease.Lease {
	d.Helper()
	all, err := lease.Keep(d.Context(), d, "n", d.scheme, 1, o)
	if err != nil {
		d.Fatal(err)
	}
	return all[0]
}

// held returns the nodes that have a holder.
func (d *desk) held() (nodes []int64) {
	d.Helper()
	rs, err := lease.Namespaces(d.st).Leases(d.Context(), "n")
	if err != nil {
		d.Fatal(err)
	}
	for _, r := range rs {
		if r.Holder != "" {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

func (d *desk) is(what string, l *lease.Lease, ok func(lease.Status) bool) {
	d.Helper()
	if s := l.Status(); !ok(s) {
		calls, _ := d.called()
		d.Errorf("%s: %+v after %q", what, s, calls)
	}
}

const keptTTL = 9 * time.Second

func kept() *lease.Options { return &lease.Options{TTL: keptTTL, Label: "kept", Idle: -1} }

// afterEpoch lets the clock pass the epoch of the layout.
func afterEpoch() { time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))) }

// A lease over a server is renewed, and its node is given back with what is left of the grant.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		l := d.keep(kept())
		first := l.Status().Grant
		g, err := l.Generator(snowfence.Config{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(keptTTL)
		d.is("renewed", l, func(s lease.Status) bool {
			return s.Grant.Until > first.Until && s.Grant.From == first.From && s.Trouble == nil
		})
		id, err := g.Next(t.Context())
		if err == nil {
			err = g.Close()
		}
		if err != nil || len(d.held()) != 0 {
			t.Errorf("%v, and %v are held", err, d.held())
		}
		used, err := d.scheme.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		next := d.keep(&lease.Options{Node: &first.Node})
		if from := next.Status().Grant.From; from <= used.Tick || from > used.Tick+1 {
			t.Errorf("the next grant begins at %d, and %d was used", from, used.Tick)
		}
		next.Orphan()
	})
}

// An answer that gets lost takes no second node, breaks no run of ticks, and keeps none from
// others.
func TestKeepWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		d.set(func() { d.lost = 3 })
		l := d.keep(kept())
		calls, r := d.called()
		if n := d.held(); len(n) != 1 || n[0] != l.Status().Grant.Node || len(calls) != 4 {
			t.Errorf("%v are held after %q", n, calls)
		}
		if len(r.Earlier) != 3 || slices.Contains(r.Earlier, r.Attempt) {
			t.Errorf("an attempt was sent twice, or is not named: %+v", r)
		}
		before := l.Status().Grant
		d.set(func() { d.lost = 2 })
		time.Sleep(keptTTL)
		d.is("renewed after lost answers", l, func(s lease.Status) bool {
			return s.Grant.From == before.From && s.Grant.Until > before.Until && s.Trouble == nil
		})
		d.set(func() { d.lost = 1 }) // of the release, or of what is settled before it
		if err := l.Close(); err == nil || !strings.Contains(err.Error(), "stays taken until") {
			t.Errorf("closed without an answer: %v", err)
		}
		if err := l.Shutdown(t.Context()); err != nil || len(d.held()) != 0 {
			t.Errorf("%v, and %v are held", err, d.held())
		}
		d.set(func() { d.lost = 100 })
		if _, err := lease.Keep(t.Context(), d, "n", d.scheme, 1, kept()); !errors.Is(err, errDesk) {
			t.Errorf("opened without an answer: %v", err)
		}
	})
}

// After a loss the lease shows its last ticket, and takes no node over.
func TestKeepHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		o := kept()
		o.Node = new(int64(1))
		sealed := false
		l := d.keep(o)
		unbind, err := l.Bind(func() int64 { sealed = true; return l.Status().Grant.Until })
		if err != nil {
			t.Fatal(err)
		}
		last := l.Status().Grant
		other, err := lease.Open(t.Context(), d.st, "n", d.scheme, &lease.Options{
			Node: o.Node, Label: "other", TTL: keptTTL,
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(keptTTL)
		d.is("lost", l, func(s lease.Status) bool { return !s.Held && errors.Is(s.Trouble, lease.ErrTaken) && sealed })
		_, r := d.called()
		lost, err := lease.ReadTicket(r.Lost)
		if err != nil || lost.Grant.Node != 1 || lost.Grant.Until < last.Until || !r.Free || d.held()[0] != 1 {
			t.Errorf("it asks with %+v", r)
		}
		d.is("the other", other, func(s lease.Status) bool { return s.Held && s.Trouble == nil })
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		unbind()
		g, err := l.Grant(t.Context(), 0)
		if err != nil || g.Node != 1 || g.From < last.Until {
			t.Errorf("%+v, %v after %+v", g, err, last)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Options.Check has the last word about a node, and it is not offered again.
func TestKeepChecksNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		o := kept()
		o.Check = func(_ context.Context, node int64) error {
			if node != 2 {
				return errors.New("it is broken")
			}
			return nil
		}
		l := d.keep(o)
		if n := l.Status().Grant.Node; n != 2 || !slices.Equal(d.held(), []int64{2}) {
			t.Errorf("node %d, and %v are held", n, d.held())
		}
		if _, r := d.called(); !slices.IsSorted(r.Avoid) || slices.Contains(r.Avoid, 2) {
			t.Errorf("it avoids %v", r.Avoid)
		}
		o.Node = new(int64(0))
		l.Orphan()
		n := len(d.calls)
		if _, err := lease.Keep(t.Context(), d, "n", d.scheme, 1, o); !errors.Is(err, lease.ErrVetoed) ||
			len(d.calls) != n {
			t.Errorf("a fixed node: %v after %q", err, d.calls[n:])
		}
		o.Node, o.Check = nil, func(context.Context, int64) error { return errors.New("all are") }
		if _, err := lease.Keep(t.Context(), d, "n", d.scheme, 1, o); !errors.Is(err, lease.ErrTaken) ||
			len(d.held()) != 1 {
			t.Errorf("none is good: %v, and %v are held", err, d.held())
		}
	})
}

// A clock that is off is told before there is a lease, and ends no grant.
func TestKeepComparesClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		off := func(a *wire.Lease) { a.Now = a.Now.Add(-lease.DefaultTTL - time.Second) }
		d.set(func() { d.change = off })
		if _, err := lease.Keep(t.Context(), d, "n", d.scheme, 1, kept()); !errors.Is(err, lease.ErrSkew) ||
			len(d.held()) != 0 {
			t.Errorf("%v, and %v are held", err, d.held())
		}
		d.set(func() { d.change = nil })
		l := d.keep(kept())
		before := l.Status().Grant
		d.set(func() { d.change = off })
		time.Sleep(keptTTL / 2)
		d.is("off", l, func(s lease.Status) bool { return s.Grant == before && errors.Is(s.Trouble, lease.ErrSkew) })
		d.set(func() { d.change = nil })
		time.Sleep(keptTTL / 2)
		d.is("right again", l, func(s lease.Status) bool { return s.Grant.Until > before.Until && s.Trouble == nil })
		l.Orphan()
	})
}

// A lease of another scheme gets nothing, and ends when the namespace gets another layout.
func TestKeepOfAnotherScheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		if _, err := lease.Keep(t.Context(), d, "n", d.schemeOf("bwmarrin"), 1, kept()); !errors.Is(err,
			lease.ErrMismatch) {
			t.Errorf("another layout: %v", err)
		}
		d.st, d.scheme = store.NewMemory(), d.schemeOf("snowfence")
		d.namespace(3)
		l := d.keep(kept())
		next := d.schemeOf("time=42,node=10,seq=12,epoch=2025-01-01")
		d.set(func() { d.scheme = next })
		if _, err := lease.Namespaces(d.st).Change(t.Context(), "n",
			d.scheme, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keptTTL)
		select {
		case <-l.Done():
		default:
			t.Errorf("it goes on: %+v", l.Status())
		}
		a, b := snowfence.GenerateSecret(), snowfence.GenerateSecret()
		const rotating = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
		d.st, d.scheme = store.NewMemory(), d.schemeOf(rotating, a)
		d.namespace(3)
		if _, err := lease.Keep(t.Context(), d, "n", d.schemeOf(rotating, a, b), 1, kept()); !errors.Is(err,
			lease.ErrRefused) ||
			!strings.Contains(err.Error(), "number 1") {
			t.Errorf("a secret that the server lacks: %v", err)
		}
		d.keep(kept()).Orphan()
		d.st, d.scheme = store.NewMemory(), d.schemeOf("randflake", a)
		d.namespace(3)
		d.keep(kept()).Orphan()
	})
}

// What a server says is compared with what was asked for, and with what it granted before.
func TestKeepBelievesNoNonsense(t *testing.T) {
	for name, change := range map[string]func(*wire.Lease){
		"no ticket":   func(a *wire.Lease) { a.Ticket = nil },
		"no ticks":    func(a *wire.Lease) { a.Grant.Until = a.Grant.From - 1 },
		"two nodes":   func(a *wire.Lease) { a.Grant.Nodes = 2 },
		"node 9":      func(a *wire.Lease) { a.Grant.Node = 9 },
		"early ticks": func(a *wire.Lease) { a.Grant.From-- },
	} {
		synctest.Test(t, func(t *testing.T) {
			afterEpoch()
			d := newDesk(t)
			l := d.keep(kept())
			before := l.Status().Grant
			d.set(func() { d.change = change })
			time.Sleep(keptTTL / 2)
			d.is(name, l, func(s lease.Status) bool { return s.Grant == before && s.Trouble != nil })
			l.Orphan()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		o := kept()
		o.Node = new(int64(1))
		l := d.keep(o)
		if _, err := l.Grant(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		old := l.Status().Grant
		if _, err := lease.Namespaces(d.st).Release(t.Context(), "n", 1); err != nil {
			t.Fatal(err)
		}
		d.set(func() { d.change = func(a *wire.Lease) { a.Grant.From = old.Until - 1 } })
		time.Sleep(keptTTL)
		d.is("ticks of before", l, func(s lease.Status) bool {
			return !s.Held && strings.Contains(fmt.Sprint(s.Trouble), "rolled back")
		})
		d.set(func() { d.change = nil })
		time.Sleep(keptTTL)
		d.is("above them", l, func(s lease.Status) bool { return s.Held && s.Grant.From >= old.Until })
		l.Orphan()
	})
}

// A lease would like its last node, or its sticky file's, and keeps within its part.
func TestKeepPrefersANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		file := filepath.Join(t.TempDir(), "node")
		if err := os.WriteFile(file, []byte("snowfence sticky 1\nnamespace n\nnode 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := kept()
		o.StickyFile = file
		l := d.keep(o)
		d.is("as the file says", l, func(s lease.Status) bool { return s.Grant.Node == 2 })
		within := kept()
		within.Within = snowfence.NodeRange{From: 1, Until: 2}
		w := d.keep(within)
		d.is("within its part", w, func(s lease.Status) bool { return s.Grant.Node == 1 })
		if text, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "node 2\n") {
			t.Errorf("%q, %v", text, err)
		}
		w.Orphan()
		l.Orphan()
	})
}

// Leases are opened together, all or none.
func TestKeepAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		d := newDesk(t)
		one := &single{desk: d, free: make(chan struct{}, 1)}
		all, err := lease.Keep(t.Context(), one, "n", d.scheme, 3, kept())
		if err != nil || len(all) != 3 || len(d.held()) != 3 {
			t.Fatalf("%d leases, %v; %v are held", len(all), err, d.held())
		}
		for _, r := range d.asked[1:] { // a server finds a free node sooner if it is told one
			if r.Prefer == nil || *r.Prefer == all[0].Status().Grant.Node {
				t.Errorf("the next lease asked for the node %v", r.Prefer)
			}
		}
		if err := lease.ShutdownAll(t.Context(), all); err != nil {
			t.Error(err)
		}
		if all, err := lease.Keep(t.Context(), one, "n", d.scheme, 4, kept()); !errors.Is(err, lease.ErrTaken) ||
			len(all) != 0 || len(d.held()) != 0 {
			t.Errorf("four of three: %v, %v; %v are held", all, err, d.held())
		}
	})
}

// single is a desk with one clerk.
type single struct {
	*desk
	free chan struct{}
}

func (s *single) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	s.free <- struct{}{}
	defer func() { <-s.free }()
	return s.desk.Acquire(ctx, name, r)
}

func (s *single) Release(ctx context.Context, b wire.Ticket, used int64) error {
	s.free <- struct{}{}
	defer func() { <-s.free }()
	return s.desk.Release(ctx, b, used)
}
