package sublet_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// in2026 moves the time of a bubble into the layout of the tests.
func in2026() { time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) }

// inUnits returns a store with the namespace default of 16 nodes in units.
func inUnits(t testing.TB, o *scope.NamespaceOptions) (*store.Memory, *snowfence.Scheme) {
	t.Helper()
	s := must(snowfence.NewScheme(snowfence.MustLayout("time=41,node=4,seq=3,epoch=1999-01-01,tick=1ms")))
	st := store.NewMemory()
	must(scope.Namespaces(st).Create(t.Context(), "default", s, o))
	return st, s
}

func open(t testing.TB, st store.Store, s *snowfence.Scheme, o lease.Options) *lease.Lease {
	t.Helper()
	return must(lease.Open(t.Context(), st, "default", s, &o))
}

func records(t *testing.T, st store.Store) []store.Record {
	t.Helper()
	return must(scope.Namespaces(st).Leases(t.Context(), "default"))
}

func next(t *testing.T, g *snowfence.Generator) {
	t.Helper()
	must(g.Next(t.Context()))
}

// lessor opens a lease of a unit, and sublets it.
func lessor(t *testing.T, st store.Store, s *snowfence.Scheme) (*lease.Lease, *sublet.Server) {
	t.Helper()
	l := open(t, st, s, lease.Options{TTL: 3 * time.Second})
	sub := must(sublet.New(l, ""))
	return l, sub
}

// holder keeps a sublease with a generator.
func holder(t *testing.T, server wire.Server, s *snowfence.Scheme) (*lease.Lease, *snowfence.Generator) {
	t.Helper()
	ls := must(lease.Keep(t.Context(), server, "default", s, 1, &lease.Options{TTL: time.Second}))
	g := must(ls[0].Generator(snowfence.Config{MaxWait: time.Minute}))
	return ls[0], g
}

// attempts counts, so that each is another.
type attempts int

func (a *attempts) next() string {
	*a++
	return "attempt-number-" + strconv.Itoa(1000+int(*a))
}

// A unit's nodes are handed out from memory, each to one holder, until
// there is none; what a holder gives back, the next one gets from there on.
// The store is asked for nothing.
func TestServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st, s := inUnits(t, &scope.NamespaceOptions{Unit: 4})
		l, sub := lessor(t, st, s)
		wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: l})), snowfence.ErrBound, "a generator of the lessor")
		wantErr(t, errOf(sublet.New(l, "")), snowfence.ErrBound, "twice")
		before := records(t, st)
		unit, seen := l.Status().Grant, map[int64]bool{}
		var try attempts
		var tickets []wire.Lease
		found := wire.Request{Attempt: try.next(), Earlier: []string{try.next()}, Known: true}
		wantErr(t, errOf(sub.Acquire(t.Context(), "default", found)), lease.ErrTaken, "what no earlier attempt got")
		for range 4 {
			q := wire.Request{Attempt: try.next(), TTL: time.Minute, Label: "x"}
			a := must(sub.Acquire(t.Context(), "default", q))
			g := a.Grant
			if seen[g.Node] || g.Node < unit.Node || g.Node >= unit.Node+4 || g.Nodes != 1 || g.From < unit.From ||
				g.Until > unit.Until || a.TTL != 2*time.Second || a.Label != "x" || a.Namespace != "default" {
				t.Errorf("%+v of %+v", a, unit)
			}
			seen[g.Node] = true
			tickets = append(tickets, a)
		}
		var taken *lease.TakenError
		if _, err := sub.Acquire(t.Context(), "default", wire.Request{Attempt: try.next()}); !errors.As(err, &taken) ||
			taken.Held != 4 {
			t.Errorf("a fifth: %v", err)
		}
		a, used := tickets[2], tickets[2].Grant.From+7
		noError(t, sub.Release(t.Context(), a.Ticket, used))
		time.Sleep(time.Second)
		b, err := sub.Acquire(t.Context(), "default", wire.Request{Attempt: try.next(), Label: "y", TTL: time.Second})
		if err != nil || b.Grant.Node != a.Grant.Node || b.Grant.From < used || b.TTL != time.Second {
			t.Errorf("after a release: %+v, %v", b, err)
		}
		wantErr(t, errOf(sub.Renew(t.Context(), a.Ticket, try.next(), nil)), store.ErrLost, "a renewal after a release")
		noError(t, sub.Release(t.Context(), a.Ticket, 0))
		if c, err := sub.Renew(t.Context(), b.Ticket, try.next(), nil); err != nil || c.Grant.From != b.Grant.From {
			t.Errorf("a release by the holder before: %+v, %v", c, err)
		}
		again := try.next()
		for _, r := range []wire.Request{
			{Attempt: "short"},
			{Attempt: again, Earlier: []string{again}},
			{Attempt: try.next(), Node: &b.Grant.Node},
			{Attempt: try.next(), Nodes: 2},
			{Attempt: try.next(), Fingerprint: "another"},
		} {
			if _, err := sub.Acquire(t.Context(), "default", r); err == nil || errors.Is(err, lease.ErrTaken) {
				t.Errorf("%+v: %v", r, err)
			}
		}
		q := wire.Request{Attempt: try.next()}
		wantErr(t, errOf(sub.Acquire(t.Context(), "other", q)), lease.ErrInvalid, "of another namespace")
		if after := records(t, st); after[0].Revision > before[0].Revision+1 { // the lessor's own renewal
			t.Errorf("the store was written %d times", after[0].Revision-before[0].Revision)
		}
		noError(t, l.Close())
		end := tickets[0].Grant.Until
		for _, k := range tickets {
			end = max(end, k.Grant.Until)
		}
		if r := records(t, st)[0]; r.Until < end || r.Until >= unit.Until+3000 || r.Holder != "" {
			t.Errorf("given back at %d, and subleases reach %d: %+v", r.Until, end, r)
		}
		wantErr(t, errOf(sub.Renew(t.Context(), tickets[0].Ticket, try.next(), nil)), store.ErrLost,
			"renewed after the lessor had given its nodes back")
		q.Attempt = try.next()
		wantErr(t, errOf(sub.Acquire(t.Context(), "default", q)), lease.ErrEnded, "acquired from a lessor that ended")
	})
}

// A lost answer is asked for again, and gets the same sublease; a copy of
// the holder gets nothing.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st, s := inUnits(t, &scope.NamespaceOptions{Unit: 4})
		l, sub := lessor(t, st, s)
		defer l.Close()
		var try attempts
		ctx, lost, again := t.Context(), try.next(), try.next()
		a := must(sub.Acquire(ctx, "default", wire.Request{Attempt: lost}))
		b, err := sub.Acquire(ctx, "default", wire.Request{Attempt: again, Earlier: []string{lost}})
		if err != nil || b.Grant.Node != a.Grant.Node || b.Grant.From != a.Grant.From {
			t.Errorf("asked again: %+v after %+v, %v", b, a, err)
		}
		copied := wire.Request{Attempt: try.next(), Earlier: []string{lost}}
		if c, err := sub.Acquire(ctx, "default", copied); err != nil ||
			c.Grant.Node == a.Grant.Node {
			t.Errorf("a copy asks again: %+v, %v", c, err)
		}
		wantErr(t, errOf(sub.Renew(ctx, a.Ticket, try.next(), nil)), store.ErrLost, "a ticket that was replaced")
		wantErr(t, errOf(sub.Renew(ctx, b.Ticket, again, nil)), lease.ErrInvalid, "the attempt of the last answer")
		first := try.next()
		must(sub.Renew(ctx, b.Ticket, first, nil))
		wantErr(t, errOf(sub.Renew(ctx, b.Ticket, first, nil)), nil, "the same request twice")
		d, err := sub.Renew(ctx, b.Ticket, try.next(), []string{first})
		wantErr(t, err, nil, "another after a lost answer")
		wantErr(t, errOf(sub.Renew(ctx, b.Ticket, try.next(), []string{first})), store.ErrLost, "a copy of the holder")
		if d, err = sub.Renew(ctx, d.Ticket, try.next(), nil); err != nil {
			t.Errorf("the holder itself: %v", err)
		}
		other, sub2 := lessor(t, st, s)
		defer other.Close()
		wantErr(t, errOf(sub2.Renew(ctx, d.Ticket, try.next(), nil)), lease.ErrElsewhere, "a ticket of another lessor")
		wantErr(t, sub2.Release(ctx, d.Ticket, 0), lease.ErrElsewhere, "a release at another lessor")
		overStore := lease.Serve(st, s, nil)
		wantErr(t, errOf(overStore.Renew(ctx, d.Ticket, try.next(), nil)), lease.ErrElsewhere,
			"a ticket of a lessor at the store")
		wantErr(t, overStore.Release(ctx, d.Ticket, 0), lease.ErrElsewhere, "a release at the store")
		for i := range d.Ticket {
			forged := slices.Clone(d.Ticket)
			forged[i] ^= 1
			_, err := sub.Renew(ctx, forged, try.next(), nil)
			if !errors.Is(err, store.ErrLost) && !errors.Is(err, lease.ErrInvalid) &&
				!errors.Is(err, lease.ErrElsewhere) {
				t.Errorf("a ticket with another byte %d: %v", i, err)
			}
			if again := sub.Release(ctx, forged, 0); again == nil || err != nil && again.Error() != err.Error() {
				t.Errorf("a release with another byte %d: %v", i, again)
			}
		}
		wantErr(t, errOf(sub.Renew(ctx, d.Ticket, try.next(), nil)), nil, "the ticket itself")
	})
}

// router sends a request to the lessor that knows its ticket, and a new one
// to any.
type router struct {
	mu  sync.Mutex // guards all
	all []*sublet.Server
}

// lead has all requests go to these.
func (r *router) lead(to ...*sublet.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = to
}

func (r *router) lessors() []*sublet.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *router) Acquire(ctx context.Context, name string, q wire.Request) (a wire.Lease, err error) {
	err = lease.ErrTaken
	for _, s := range r.lessors() {
		if a, err = s.Acquire(ctx, name, q); err == nil {
			break
		}
	}
	return a, err
}

func (r *router) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (a wire.Lease, err error) {
	err = lease.ErrElsewhere
	for _, s := range r.lessors() {
		if a, err = s.Renew(ctx, t, attempt, earlier); !errors.Is(err, lease.ErrElsewhere) {
			break
		}
	}
	return a, err
}

func (r *router) Release(ctx context.Context, t wire.Ticket, used int64) (err error) {
	for _, s := range r.lessors() {
		if err = s.Release(ctx, t, used); !errors.Is(err, lease.ErrElsewhere) {
			return err
		}
	}
	return err
}

// When its lessor is gone, a holder uses its grant to the end, and takes a
// node of another lessor.
func TestHolderOfALessorThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st, s := inUnits(t, &scope.NamespaceOptions{Unit: 4})
		one, first := lessor(t, st, s)
		two, second := lessor(t, st, s)
		r := &router{all: []*sublet.Server{first}}
		l, g := holder(t, r, s)
		before := l.Status().Grant
		next(t, g)
		r.lead(second)
		time.Sleep(500 * time.Millisecond)
		after := l.Status()
		if unit := two.Status().Grant; after.Trouble != nil || after.Grant.Node < unit.Node ||
			after.Grant.Node >= unit.Node+unit.Nodes || before.Node == after.Grant.Node {
			t.Errorf("%+v, then %+v of %+v", before, after, unit)
		}
		next(t, g)
		r.lead()
		time.Sleep(500 * time.Millisecond)
		if st := l.Status(); !st.Held || st.Grant.Node != after.Grant.Node || st.Trouble == nil {
			t.Errorf("no lessor is left: %+v", st)
		}
		for _, c := range []interface{ Close() error }{g, one, two} {
			noError(t, c.Close())
		}
	})
}

// After its lessor lost the unit, a holder's ticket stays lost, also when
// the lessor has the same nodes again.
func TestTicketsAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st, s := inUnits(t, &scope.NamespaceOptions{Unit: 16})
		l, sub := lessor(t, st, s)
		defer l.Close()
		var try attempts
		a := must(sub.Acquire(t.Context(), "default", wire.Request{Attempt: try.next()}))
		before := l.Status().Grant
		must(scope.Namespaces(st).Release(t.Context(), "default", 0))
		time.Sleep(2 * time.Second)
		if g := l.Status().Grant; g.Node != before.Node || g.From < before.Until {
			t.Fatalf("%+v after %+v", g, before)
		}
		time.Sleep(3 * time.Second)
		for range 16 {
			must(sub.Acquire(t.Context(), "default", wire.Request{Attempt: try.next()}))
		}
		wantErr(t, errOf(sub.Renew(t.Context(), a.Ticket, try.next(), nil)), store.ErrLost, "a renewal")
		noError(t, sub.Release(t.Context(), a.Ticket, 0))
	})
}

// A lessor writes every five seconds, whatever its ttl; another lease
// follows its ttl. A holder that names no ttl gets the usual one.
func TestLessorsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in2026()
		st, s := inUnits(t, &scope.NamespaceOptions{Unit: 4, MaxTTL: time.Hour})
		for _, c := range []struct {
			ttl         time.Duration
			lent        bool
			least, most int64 // writes in a minute
		}{{time.Hour, false, 0, 0}, {time.Hour, true, 10, 14}, {3 * time.Second, true, 50, 70}} {
			l := open(t, st, s, lease.Options{TTL: c.ttl, Label: "lessor"})
			var sub *sublet.Server
			if c.lent {
				var err error
				if sub, err = sublet.New(l, "here"); err != nil || sub.Lease() != l {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour) // nobody asks, and it does not idle
			}
			revision := func() int64 {
				rs := records(t, st)
				i := slices.IndexFunc(rs, func(r store.Record) bool { return r.Node == l.Status().Grant.Node })
				return rs[i].Revision
			}
			before := revision()
			time.Sleep(time.Minute)
			if n := revision() - before; n < c.least || n > c.most {
				t.Errorf("%v, sublet: %v: %d writes in a minute", c.ttl, c.lent, n)
			}
			var try attempts
			if sub != nil && c.ttl == time.Hour {
				for _, ttl := range []time.Duration{0, time.Second, 2 * time.Hour} {
					want := map[time.Duration]time.Duration{0: scope.DefaultTTL, 2 * time.Hour: 40 * time.Minute}
					a, err := sub.Acquire(t.Context(), "default",
						wire.Request{TTL: ttl, Label: ttl.String()})
					if err != nil || a.TTL != cmp.Or(want[ttl], ttl) || a.Lessor != "here" {
						t.Errorf("%+v, %v", a, err)
					}
				}
				time.Sleep(2 * time.Second)
				ofOne := func(label string) bool { return label == "2h0m0s" }
				if sub.Held(nil) != 2 || sub.Held(ofOne) != 1 {
					t.Errorf("%d are held, %d of one label", sub.Held(nil), sub.Held(ofOne))
				}
				for _, r := range []wire.Request{{TTL: 1}, {Label: "a\nb"}} {
					if r.Attempt = try.next(); !errors.Is(func() error {
						_, err := sub.Acquire(t.Context(), "default", r)
						return err
					}(), lease.ErrInvalid) {
						t.Errorf("%+v is allowed", r)
					}
				}
			}
			noError(t, l.Close())
			if sub != nil && sub.Held(nil) != 0 {
				t.Errorf("%d are held of a lease that has ended", sub.Held(nil))
			}
		}
	})
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr
