package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Requests to one server count one after the other, so that the last place
// is given away.
func TestOneServerGivesAwayAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, s := scripted(t, "n")
		id := limited(t, 2, VerbLease)
		st.late = time.Millisecond // all count before any of them writes, if they may
		st.count = func(context.Context) error {
			time.Sleep(time.Millisecond) // and all write before any of them counts again
			return nil
		}
		var all sync.WaitGroup
		var kept atomic.Int64
		for i := range 5 {
			all.Go(func() {
				if takeNode(t.Context(), t, s, id, int64(i)) == nil {
					kept.Add(1)
				}
			})
		}
		all.Wait()
		if n := heldIn(t, s); kept.Load() != 2 || n != 2 {
			t.Errorf("%d of 2 places were given away, and %d nodes are held", kept.Load(), n)
		}
	})
}

// A renewal that was sent in time came to the store when another program
// had its place.
func TestRenewalUnderwayBeyondALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, s := scripted(t, "n")
		id := limited(t, 1, VerbLease)
		renew, until := heldNode(t, s, id, 5, 10*time.Second)
		time.Sleep(9 * time.Second)
		st.begin = func(ws []store.Write) {
			if ws[0].New.Node == 5 && ws[0].New.Holder != "" {
				time.Sleep(3 * time.Second)
			}
		}
		late := make(chan error)
		go func() { late <- renew() }()
		time.Sleep(2 * time.Second)
		wantErr(t, takeNode(t.Context(), t, s, id, 6), nil, "the place of a lease that has ended")
		wantKind(t, <-late, Lost)
		if n := heldIn(t, s); n != 1 {
			t.Errorf("%d nodes are held", n)
		}
		rs, _, err := s.store.Get(t.Context(), []store.Key{{Namespace: "n", Node: 5}})
		if err != nil || rs[0].Until < until {
			t.Errorf("ticks up to %d were granted, those from %d are free: %v", until, rs[0].Until, err)
		}
	})
}

// A client took its node at a server whose clock is behind, another one at
// another server when it had ended there, and renewed the first.
func TestOneLimitOfTwoClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, s := scripted(t, "n")
		ahead := newService(t, st, Options{})
		ahead.now = func() time.Time { return time.Now().Add(5 * time.Second) }
		renew, _ := heldNode(t, s, limited(t, 1, VerbLease), 0, 4*time.Second)
		st.begin = func(ws []store.Write) {
			if ws[0].New.Node == 0 {
				st.begin, st.end = nil, func(errs []error) { errs[0], st.end = errSilent, nil }
			}
		}
		if err := takeNode(t.Context(), t, ahead, limited(t, 1, VerbLease), 5); !errors.Is(err, errSilent) {
			t.Errorf("the first one did not give way: %v", err)
		}
		noError(t, takeNode(t.Context(), t, ahead, limited(t, 1, VerbLease), 5))
		st.count = func(context.Context) error { return errors.New("a renewal counts nothing") }
		wantKind(t, renew(), Lost)
		st.count = nil
		if n := heldIn(t, s); n != 1 {
			t.Errorf("%d nodes are held", n)
		}
	})
}

// An ended lease whose holder gave way to nobody goes on without a count.
func TestEndedLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, s := scripted(t, "n")
		renew, _ := heldNode(t, s, limited(t, 1, VerbLease), 0, 4*time.Second)
		time.Sleep(time.Minute)
		st.count = func(context.Context) error { return errSilent }
		noError(t, renew())
	})
}

// A token without a limit renewed subleases of one with a limit that had
// ended, while the programs of that one had its places.
func TestEndedTicketsOfAnotherToken(t *testing.T) {
	for name, c := range map[string]struct {
		name  string
		verbs []Verb
		after time.Duration
		want  bool
	}{
		"in time":              {"other", []Verb{VerbLease}, 9 * time.Second, true},
		"ended":                {"other", []Verb{VerbLease}, 10 * time.Second, false},
		"ended, by a manager":  {"other", []Verb{VerbLease, VerbManage}, 10 * time.Second, true},
		"ended, by its maker":  {"shop", []Verb{VerbLease}, 10 * time.Second, true},
		"ended, by its prefix": {"sho", []Verb{VerbLease}, 10 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			afterEpoch()
			s := newService(t, inUnits(t), Options{})
			other := tokensOf(t, Token{Name: c.name, SHA256: sum("2"), Verbs: c.verbs}).tokens[0]
			o := wire.Request{Label: "a", TTL: 10 * time.Second}
			g, sp, err := s.Leases.Acquire(t.Context(), limited(t, 1, VerbLease), "n", o)
			noError(t, err)
			time.Sleep(c.after)
			_, _, err = s.Leases.Renew(t.Context(), other, g.Lease, "attempt-0123456789")
			if (err == nil) != c.want || err != nil && KindOf(err) != Lost {
				t.Errorf("%s: %v", name, err)
			}
			if n := sp.lessor.Held(nil); (n == 1) != c.want { // a refused one takes nothing
				t.Errorf("%s: %d nodes are held", name, n)
			}
			if got := other.usage.Refused.Load(); (got == 0) != c.want {
				t.Errorf("%s: %d requests were counted as refused", name, got)
			}
		})
	}
}

// A limit that was lowered took nodes away from programs that run, or kept
// them from giving back.
func TestLoweredLimit(t *testing.T) {
	_, s := scripted(t, "n")
	auth := func(nodes int) *Auth {
		verbs := []Verb{VerbLease}
		return tokensOf(t, Token{Name: "shop", SHA256: sum("1"), Verbs: verbs, Nodes: nodes})
	}
	before := auth(3)
	id := before.tokens[0]
	renew, _ := heldNode(t, s, id, 0, time.Minute)
	node := int64(1)
	gone, _, err := s.Leases.Acquire(t.Context(), id, "n", wire.Request{Label: "gone", Node: &node})
	noError(t, err)
	noError(t, takeNode(t.Context(), t, s, id, 7))
	auth(1).Replace(before)
	wantErr(t, renew(), nil, "a renewal in time")
	wantKind(t, takeNode(t.Context(), t, s, id, 7), TooMuch)
	if n := heldIn(t, s); n != 3 {
		t.Errorf("%d nodes are held: a request that was refused wrote", n)
	}
	wantErr(t, s.Leases.Release(t.Context(), gone.Lease, -1), nil, "a node that is given back")
	if n := heldIn(t, s); n != 2 {
		t.Errorf("%d nodes are held after one was given back", n)
	}
}

// Another server took the last place while a request was under way, and
// then the count failed, the caller left, or the answer was lost: the node
// was kept all the same.
func TestNodesThatWereNotCounted(t *testing.T) {
	type scene struct {
		others int // nodes that another server gave away meanwhile
		count  func(leave func()) error
	}
	count := func(func()) error { return nil }
	silent := func(func()) error { return errSilent }
	leaves := func(leave func()) error { leave(); return nil }
	for name, c := range map[string]scene{
		"a ticket":                    {1, count},
		"a ticket, the count fails":   {0, silent},
		"a ticket, the caller leaves": {1, leaves},
	} {
		t.Run(name, func(t *testing.T) {
			st, s := scripted(t, "n")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			st.end = func([]error) {
				if heldIn(t, s) == 0 {
					return // the namespace was written, not a node
				}
				st.end = nil
				for i := range int64(c.others) {
					put(t, st, leased(t, s, "n", i, "shop/a", time.Minute))
				}
				st.count = func(context.Context) error { return c.count(leave) }
			}
			fails(t, takeNode(ctx, t, s, limited(t, 1, VerbLease), 5), "the node was kept")
			st.count = nil
			if n := heldIn(t, s); n != c.others {
				t.Errorf("%d nodes are held, not %d", n, c.others)
			}
		})
	}
}
