package lessor_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// rig is a lessor of units of ten nodes and more, over a store in memory.
type rig struct {
	*testing.T
	*lessor.Lessor
	st     store.Store
	s      *snowfence.Scheme
	opened atomic.Int64 // attempts to lease a unit
	fail   error
	slow   chan struct{} // what leases a unit waits for it to be closed; nil when it does not
	ended  chan error
}

func newRig(t *testing.T, unit int64) *rig {
	t.Helper()
	return newRigOf(t, "time=41,node=6,seq=10,epoch=2020-01-01,tick=1ms", unit)
}

func newRigOf(t *testing.T, layout string, unit int64) *rig {
	t.Helper()
	time.Sleep(27 * 365 * 24 * time.Hour) // synctest begins in 2000
	l := must(snowfence.ParseLayout(layout))
	r := &rig{T: t, st: store.NewMemory(), s: must(snowfence.NewScheme(l)), ended: make(chan error, 10)}
	o := &scope.NamespaceOptions{Unit: unit}
	must(scope.Namespaces(r.st).Create(t.Context(), "n", r.s, o))
	r.Lessor = lessor.New("me", unit, r.open, lease.Serve(r.st, r.s, nil), func(err error) { r.ended <- err })
	return r
}

func (r *rig) open(ctx context.Context, within snowfence.NodeRange, life string) (*sublet.Server, error) {
	if r.opened.Add(1); r.fail != nil {
		return nil, r.fail
	}
	if r.slow != nil {
		<-r.slow
	}
	l, err := lease.Open(ctx, r.st, "n", r.s, &lease.Options{Idle: -1, Within: within, Label: "lessor"})
	if err != nil {
		return nil, err
	}
	return sublet.New(l, life)
}

func (r *rig) take(label string) (wire.Lease, error) {
	return r.Acquire(r.Context(), "n", wire.Request{Attempt: rand.Text(), Label: label})
}

// units returns how many units are held in the store.
func (r *rig) units() (n int) {
	r.Helper()
	rs, err := scope.Namespaces(r.st).Leases(r.Context(), "n")
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range rs {
		if one.Holder != "" {
			n++
		}
	}
	return n
}

// Units are leased ahead of demand, and the empty ones are given back; a
// node comes once.
func TestUnitsFollowDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		if r.units() != 0 || r.Units() != nil {
			t.Fatal("a unit was leased before anybody asked")
		}
		seen, all := map[int64]bool{}, []wire.Lease{}
		for i := range 33 {
			a, err := r.take("x")
			if err != nil || seen[a.Grant.Node] || a.Grant.Nodes != 1 || lessor.IDOf(a) != "me" {
				t.Fatalf("%+v, %v", a, err)
			}
			seen[a.Grant.Node] = true
			all = append(all, a)
			synctest.Wait()
			want := i/8 + 1
			if (i+1)*5 > want*8*4 { // more than four fifths
				want++
			}
			held, nodes := r.Count()
			if n := r.units(); n != want || held != int64(i+1) || nodes != int64(8*want) || len(r.Units()) != want {
				t.Fatalf("%d nodes: %d units, want %d; %d of %d are counted", i+1, n, want, held, nodes)
			}
		}
		renew := func(a wire.Lease) wire.Lease {
			b, err := r.Renew(t.Context(), a.Ticket, rand.Text(), nil)
			if err != nil || b.Grant.Node != a.Grant.Node {
				t.Fatalf("%+v, %v", b, err)
			}
			return b
		}
		for _, a := range all[1:] {
			noError(t, r.Release(t.Context(), a.Ticket, a.Grant.From+1))
		}
		for range 30 {
			time.Sleep(3 * time.Second)
			all[0] = renew(all[0])
		}
		if n := r.units(); n != 1 || r.Held(nil) != 1 {
			t.Errorf("%d units for %d nodes", n, r.Held(nil))
		}
		wantErr(t, tests.ErrOf(r.Renew(t.Context(), all[1].Ticket, rand.Text(), nil)), store.ErrLost,
			"a node that was released")
		wantErr(t, r.Release(t.Context(), all[32].Ticket, 0), nil, "a release after the unit was given back")
		time.Sleep(time.Second / 4) // between two looks
		for range 2 {               // a repeated release frees no other node
			noError(t, r.Release(t.Context(), all[0].Ticket, all[0].Grant.From))
		}
		if held, _ := r.Count(); held != 0 {
			t.Errorf("%d nodes are counted", held)
		}
		time.Sleep(61 * time.Second) // the last holder is gone, and the next look is in less than a second
		synctest.Wait()
		held, nodes := r.Count()
		if n := r.units(); n != 0 || r.Units() != nil || held != 0 || nodes != 0 {
			t.Errorf("%d units for nobody; %d of %d nodes are counted", n, held, nodes)
		}
		if _, err := r.take("x"); err != nil || r.units() != 1 {
			t.Errorf("%d units: %v", r.units(), err)
		}
	})
}

// Who repeated a request made another unit be leased. Who repeated a
// release, or forged one, made the units look empty.
func TestRepeatsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		counted := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if held, _ := r.Count(); held != want || r.opened.Load() != 1 {
				t.Errorf("%s: %d nodes are counted, want %d, in %d units", when, held, want, r.opened.Load())
			}
		}
		q := wire.Request{Attempt: rand.Text(), Label: "x"}
		a := must(r.Acquire(t.Context(), "n", q))
		for range 20 {
			q.Earlier, q.Attempt = []string{q.Attempt}, rand.Text()
			a = must(r.Acquire(t.Context(), "n", q))
		}
		counted("one holder", 1)
		b, c := must(r.take("y")), must(r.take("z"))
		forged := append(wire.Ticket(nil), b.Ticket...)
		forged[len(forged)-1] ^= 1
		wantErr(t, r.Release(t.Context(), forged, 0), store.ErrLost, "a forged release")
		counted("three holders", 3)
		for range 5 {
			noError(t, r.Release(t.Context(), a.Ticket, a.Grant.From))
		}
		counted("two holders", 2)
		q.Attempt, q.Within = rand.Text(), snowfence.NodeRange{From: a.Grant.Node, Until: a.Grant.Node + 1}
		a = must(r.Acquire(t.Context(), "n", q))
		time.Sleep(3 * time.Second / 2) // the next look
		counted("three again", 3)
		noError(t, r.Release(t.Context(), a.Ticket, a.Grant.From))
		noError(t, r.Release(t.Context(), b.Ticket, b.Grant.From))
		counted("one", 1)
		for range 8 { // each node once more
			next := must(r.take("x"))
			counted("one and this one", 2)
			noError(t, r.Release(t.Context(), next.Ticket, next.Grant.From))
			counted("one again", 1)
		}
		noError(t, r.Release(t.Context(), c.Ticket, c.Grant.From))
		counted("none", 0)
		time.Sleep(time.Second)
		noError(t, r.Release(t.Context(), c.Ticket, c.Grant.From)) // after a look, which forgot it
		counted("none, and no fewer", 0)
	})
}

// Callers who wait for a unit get one together, also that of a caller who
// left. A request within a range
// takes none while others have room. An empty unit stays while the others
// would be too full without it.
func TestUnitsOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		opened := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if n := r.opened.Load(); n != want {
				t.Errorf("%s: %d units were asked for, want %d", when, n, want)
			}
		}
		out := wire.Request{Attempt: rand.Text(), Within: snowfence.NodeRange{From: 3, Until: 9}}
		if _, err := r.Acquire(t.Context(), "n", out); err == nil {
			t.Error("a range that has no unit")
		}
		opened("what fails for one caller", 1)
		r.slow = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var left, all sync.WaitGroup
		left.Go(func() {
			wantErr(t, tests.ErrOf(r.Acquire(ctx, "n", wire.Request{Attempt: rand.Text()})), context.Canceled,
				"a caller who left")
		})
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				noError(t, tests.ErrOf(r.take("x")))
			})
		}
		synctest.Wait()
		cancel()
		left.Wait()
		close(r.slow)
		all.Wait()
		opened("five callers at once, after one who left", 2)
		elsewhere := wire.Request{Attempt: rand.Text(), Within: snowfence.NodeRange{Until: 8}}
		for slices.ContainsFunc(r.Units(), func(u lessor.Unit) bool { return u.Node == elsewhere.Within.From }) {
			elsewhere.Within.From, elsewhere.Within.Until = elsewhere.Within.Until, elsewhere.Within.Until+8
		}
		wantErr(t, tests.ErrOf(r.Acquire(t.Context(), "n", elsewhere)), lease.ErrTaken,
			"others than those that have room")
		opened("for others than those that have room", 2)
		r.fail = errors.New("away")
		for range 3 { // the first one asks ahead of demand
			must(r.take("x"))
			time.Sleep(250 * time.Millisecond)
		}
		opened("after a failure ahead of demand", 3)
		r.fail = nil
		if _, err := r.Acquire(t.Context(), "n", elsewhere); err != nil {
			t.Errorf("others, when nothing has room: %v", err)
		}
		opened("when nothing has room", 4)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		var all []wire.Lease
		for range 7 {
			all = append(all, must(r.take("x")))
		}
		whole := must(r.Acquire(t.Context(), "n", wire.Request{Attempt: rand.Text(), Nodes: 8}))
		noError(t, r.Release(t.Context(), whole.Ticket, 0))
		if held, _ := r.Count(); held != 7 {
			t.Errorf("%d nodes are counted after the release of a unit of the store", held)
		}
		for range 100 {
			time.Sleep(time.Second)
			for i, a := range all {
				all[i] = must(r.Renew(t.Context(), a.Ticket, rand.Text(), nil))
			}
		}
		if n := r.opened.Load(); n != 2 || len(r.Units()) != 2 {
			t.Errorf("of %d units %d are here, for 7 of 8 nodes", n, len(r.Units()))
		}
	})
}

// What prevents another unit is told; it does not end with callers who
// leave, and none is asked for again and again.
func TestUnitsThatCannotBeLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 64)
		defer r.Close(t.Context())
		r.fail = errors.New("away")
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				wantErr(t, tests.ErrOf(r.take("x")), r.fail, "")
			})
		}
		all.Wait()
		if n := r.opened.Load(); n != 1 {
			t.Errorf("100 callers asked the store %d times", n)
		}
		r.fail = nil
		part := wire.Request{Attempt: rand.Text(), Within: snowfence.NodeRange{Until: 64}}
		if _, err := r.Acquire(t.Context(), "n", part); err != nil {
			t.Errorf("after a failure that was not of this range: %v", err)
		}
		time.Sleep(time.Second)
		for range 63 {
			must(r.take("x"))
		}
		wantErr(t, tests.ErrOf(r.take("x")), lease.ErrTaken, "all nodes are held")
		before := r.opened.Load()
		time.Sleep(5 * time.Second)
		if n := r.opened.Load() - before; n > 6 {
			t.Errorf("asked for a unit %d times in 5 s", n)
		}
		q := wire.Request{Attempt: rand.Text(), Fingerprint: "another"}
		wantErr(t, tests.ErrOf(r.Acquire(t.Context(), "n", q)), lease.ErrMismatch, "of another layout")
		wantErr(t, tests.ErrOf(r.Renew(t.Context(), wire.Ticket("{}"), rand.Text(), nil)), lease.ErrInvalid,
			"no ticket")
	})
}

// A lost answer took a second node, where another unit had room.
func TestEarlierAttemptOfAnotherUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		lost := wire.Request{Attempt: rand.Text()}
		first := must(r.Acquire(t.Context(), "n", lost))
		for range 8 {
			must(r.take("x"))
		}
		again := wire.Request{Attempt: rand.Text(), Earlier: []string{lost.Attempt}}
		if a := must(r.Acquire(t.Context(), "n", again)); a.Grant.Node != first.Grant.Node {
			t.Errorf("node %d, after node %d", a.Grant.Node, first.Grant.Node)
		}
	})
}

// A grant that begins later is no reason to lease all units.
func TestUnitsThatBeginLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		noError(t, r.st.Suspect(t.Context(), must(store.Identity(t.Context(), r.st, "n"))))
		for range 5 {
			if _, err := r.take("x"); !errors.Is(err, snowfence.ErrFenced) {
				t.Fatalf("%v", err)
			}
			time.Sleep(8 * time.Second) // in the end a part of the grant may be used, and it begins later
		}
		tests.Refuses(t, tests.ErrOf(r.take("x")), snowfence.ErrFenced, "begins at")
		if n := r.units(); n != 1 {
			t.Errorf("%d units", n)
		}
		time.Sleep(time.Minute)
		must(r.take("x"))
	})
}

// A unit whose grant begins later is no reason to lease another one, and a
// unit whose lease has ended is no reason to refuse.
func TestUnitsThatHelpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		var a wire.Lease
		for i := range 7 {
			if i == 6 { // another unit is leased now
				noError(t, r.st.Suspect(t.Context(), must(store.Identity(t.Context(), r.st, "n"))))
			}
			a = must(r.take("x"))
		}
		synctest.Wait()
		taken := snowfence.NodeRange{From: a.Grant.Node, Until: a.Grant.Node + 1}
		q := wire.Request{Attempt: rand.Text(), Within: taken}
		wantErr(t, tests.ErrOf(r.Acquire(t.Context(), "n", q)), snowfence.ErrFenced, "")
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		defer r.Close(t.Context())
		a := must(r.take("x"))
		must(scope.Namespaces(r.st).Delete(t.Context(), "n"))
		for range 10000 {
			b, err := r.Renew(t.Context(), a.Ticket, rand.Text(), nil)
			if a = b; errors.Is(err, store.ErrLost) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if units := r.Units(); units != nil {
			t.Errorf("units that were lost: %v", units)
		}
		o := &scope.NamespaceOptions{Unit: 8}
		must(scope.Namespaces(r.st).Create(t.Context(), "n", r.s, o))
		if _, err := r.take("x"); errors.Is(err, lease.ErrEnded) {
			t.Error(err)
		}
	})
}

// Tickets of another lessor are elsewhere. Tickets of a lessor that has
// ended are lost, and so are the tickets of a unit whose namespace is gone.
func TestLessorsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early, r := newRig(t, 8), newRig(t, 8)
		must(early.take("x"))
		noError(t, early.Close(t.Context()))
		within := wire.Request{Within: snowfence.NodeRange{Until: 8}}
		wantErr(t, tests.ErrOf(early.Acquire(t.Context(), "n", within)), lease.ErrEnded, "its unit was given back")
		a := must(r.take("x"))
		other := lessor.New("other", 8, r.open, nil, func(error) {})
		defer other.Close(t.Context())
		wantErr(t, tests.ErrOf(other.Renew(t.Context(), a.Ticket, rand.Text(), nil)), lease.ErrElsewhere, "")
		wantErr(t, other.Release(t.Context(), a.Ticket, 0), lease.ErrElsewhere, "")
		must(scope.Namespaces(r.st).Delete(t.Context(), "n"))
		began := time.Now()
		if err := <-r.ended; !errors.Is(err, lease.ErrNoNamespace) || time.Since(began) > 10*time.Second {
			t.Errorf("the namespace is gone: %v after %v", err, time.Since(began))
		}
		wantErr(t, tests.ErrOf(r.Renew(t.Context(), a.Ticket, rand.Text(), nil)), store.ErrLost, "")
		noError(t, r.Close(t.Context()))
		wantErr(t, tests.ErrOf(r.take("x")), lease.ErrEnded, "")
	})
}

// A unit that was being leased when the lessor ended is given back.
func TestUnitThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8)
		r.slow = make(chan struct{})
		told := make(chan error)
		for range 3 {
			go func() { told <- tests.ErrOf(r.take("x")) }()
		}
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(r.slow) })
		noError(t, r.Close(t.Context()))
		for range 3 {
			wantErr(t, <-told, lease.ErrEnded, "a caller who waited for it")
		}
		if n, opened := r.units(), r.opened.Load(); n != 0 || opened != 1 {
			t.Errorf("%d of %d units are held by a lessor that has ended", n, opened)
		}
	})
}

// Many callers at once get a node each, while units come and go and the
// lessor is closed.
func TestCallersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4)
		var mu sync.Mutex
		used := map[string]bool{} // node and tick
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				for range 20 {
					a, err := r.take(fmt.Sprint(i))
					if err != nil {
						if !errors.Is(err, lease.ErrTaken) && !errors.Is(err, lease.ErrEnded) {
							t.Error(err)
						}
						time.Sleep(time.Second)
						continue
					}
					mu.Lock()
					for tick := a.Grant.From; tick < a.Grant.From+5; tick++ {
						at := fmt.Sprint(a.Grant.Node, "/", tick)
						if used[at] {
							t.Errorf("twice: %s", at)
						}
						used[at] = true
					}
					mu.Unlock()
					time.Sleep(time.Duration(i) * 100 * time.Millisecond)
					noError(t, r.Release(t.Context(), a.Ticket, a.Grant.From+5))
				}
			})
		}
		time.Sleep(30 * time.Second)
		noError(t, r.Close(t.Context()))
		all.Wait()
		if n := r.units(); n != 0 || len(used) == 0 {
			t.Errorf("%d units are held after Close; %d ticks", n, len(used))
		}
	})
}

// 500 programs a second, which live for a second and give their node back:
// docs/start/agent.md says how many nodes they need.
func TestShortLives(t *testing.T) {
	for tick, want := range map[string]int64{"1ms": 704, "1s": 1152} {
		synctest.Test(t, func(t *testing.T) {
			r := newRigOf(t, "time=41,node=12,seq=10,epoch=2020-01-01,tick="+tick, 64)
			defer r.Close(t.Context())
			var all sync.WaitGroup
			for range 5000 {
				all.Go(func() {
					a, err := r.take("x")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Second)
					noError(t, r.Release(t.Context(), a.Ticket, r.s.Layout().TickOf(time.Now())+1))
				})
				time.Sleep(2 * time.Millisecond)
			}
			if _, n := r.Count(); n > want {
				t.Errorf("with ticks of %s: %d nodes, want at most %d", tick, n, want)
			}
			all.Wait()
		})
	}
}

func must[T any](v T, err error) T { return tests.Must(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// noError ends the test at an error.
var noError = tests.NoError
