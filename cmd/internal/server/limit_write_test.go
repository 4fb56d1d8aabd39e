package server

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// Requests to one server count one after the other, so that the last place is given away.
func TestOneServerGivesAwayAllPlaces(t *testing.T) {
	for _, verb := range []Verb{VerbLease, VerbStore} {
		synctest.Test(t, func(t *testing.T) {
			afterEpoch()
			st, s := scripted(t, "n")
			id := limited(t, 2, verb)
			st.late = time.Millisecond // all count before any of them writes, if they may
			st.count = func(context.Context) error {
				time.Sleep(time.Millisecond) // and all write before any of them counts again
				return nil
			}
			var all sync.WaitGroup
			var kept atomic.Int64
			for i := range 5 {
				all.Go(func() {
					if takeNode(t.Context(), t, s, id, verb, int64(i)) == nil {
						kept.Add(1)
					}
				})
			}
			all.Wait()
			if n := heldIn(t, s); kept.Load() != 2 || n != 2 {
				t.Errorf("%s: %d of 2 places were given away, and %d nodes are held", verb, kept.Load(), n)
			}
		})
	}
}

// A renewal that was sent in time came to the store when another program had its place.
func TestRenewalUnderwayBeyondALimit(t *testing.T) {
	for _, verb := range []Verb{VerbLease, VerbStore} {
		synctest.Test(t, func(t *testing.T) {
			afterEpoch()
			st, s := scripted(t, "n")
			id := limited(t, 1, verb)
			renew, until := heldNode(t, s, id, verb, 5, 10*time.Second)
			time.Sleep(9 * time.Second)
			st.begin = func(ws []lease.Write) {
				if ws[0].New.Node == 5 {
					time.Sleep(3 * time.Second)
				}
			}
			late := make(chan error)
			go func() { late <- renew() }()
			time.Sleep(2 * time.Second)
			if err := takeNode(t.Context(), t, s, id, verb, 6); err != nil {
				t.Errorf("%s: the place of a lease that has ended: %v", verb, err)
			}
			if err := <-late; KindOf(err) != TooMuch {
				t.Errorf("%s: the renewal that came too late: %v", verb, err)
			}
			if n := heldIn(t, s); n != 1 {
				t.Errorf("%s: %d nodes are held", verb, n)
			}
			rs, err := s.store.Get(t.Context(), []lease.Key{{Namespace: "n", Node: 5}})
			if err != nil || rs[0].Until < until {
				t.Errorf("%s: ticks up to %d were granted, those from %d are free: %v", verb, until, rs[0].Until, err)
			}
		})
	}
}

// A token without a limit renewed tickets of one with a limit that had ended, while the programs of
// that one had its places.
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
			_, s := scripted(t, "n")
			other := tokensOf(t, Token{Name: c.name, SHA256: sum("2"), Verbs: c.verbs}).tokens[0]
			node := int64(5)
			o := lease.Options{Label: "a", Node: &node, TTL: 10 * time.Second}
			g, _, err := s.Acquire(t.Context(), limited(t, 1, VerbLease), "n", nil, o)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.after)
			_, _, err = s.Renew(t.Context(), other, g.Ticket, "attempt-0123456789")
			if (err == nil) != c.want || err != nil && KindOf(err) != Lost {
				t.Errorf("%s: %v", name, err)
			}
			if n := heldIn(t, s); (n == 1) != c.want || n > 1 {
				t.Errorf("%s: %d nodes are held", name, n)
			}
			if got := other.used.Refused.Load(); (got == 0) != c.want {
				t.Errorf("%s: %d requests were counted as refused", name, got)
			}
		})
	}
}

// A batch gets as many nodes as there are places, node 0 too, and each namespace has a limit.
func TestBatchUpToALimit(t *testing.T) {
	_, s := scripted(t, "n", "m")
	st := &owned{s.store, s, limited(t, 2, VerbStore)}
	var writes []lease.Write
	for _, k := range []lease.Key{
		{Namespace: "n", Node: 2},
		{Namespace: "n", Node: 1},
		{Namespace: "m", Node: 1},
		{Namespace: "n", Node: 0},
		{Namespace: "m", Node: 0},
	} {
		writes = append(writes, lease.Write{New: leased(t, s, k.Namespace, k.Node, "a", time.Minute)})
	}
	errs := st.Swap(t.Context(), writes)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i != 3 ||
		KindOf(errs[3]) != TooMuch || errs[4] != nil {
		t.Errorf("of five nodes: %v", errs)
	}
	if n := heldIn(t, s); n != 2 {
		t.Errorf("%d nodes are held", n)
	}
}

// A limit that was lowered took nodes away from programs that run, or kept them from giving back.
func TestLoweredLimit(t *testing.T) {
	_, s := scripted(t, "n")
	auth := func(nodes int) *Auth {
		verbs := []Verb{VerbLease, VerbStore}
		return tokensOf(t, Token{Name: "shop", SHA256: sum("1"), Verbs: verbs, Nodes: nodes})
	}
	before := auth(3)
	id := before.tokens[0]
	st := &owned{s.store, s, id}
	var rs []lease.Record
	for i := range int64(2) {
		rs = append(rs, leased(t, s, "n", i, "a", time.Minute))
		if err := st.Swap(t.Context(), []lease.Write{{New: rs[i]}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if err := takeNode(t.Context(), t, s, id, VerbLease, 7); err != nil {
		t.Fatal(err)
	}
	auth(1).Replace(before)
	next := rs[0]
	next.Nonce, next.Revision = rand.Text(), 2
	if err := st.Swap(t.Context(), []lease.Write{{Old: rs[0].Nonce, New: next}})[0]; err != nil {
		t.Errorf("a renewal in time: %v", err)
	}
	if err := takeNode(t.Context(), t, s, id, VerbLease, 7); KindOf(err) != TooMuch {
		t.Errorf("a restarted program beyond the new limit: %v", err)
	}
	if n := heldIn(t, s); n != 3 {
		t.Errorf("%d nodes are held: a request that was refused wrote", n)
	}
	gone := rs[1]
	gone.Nonce, gone.Revision, gone.Holder = rand.Text(), 2, ""
	if err := st.Swap(t.Context(), []lease.Write{{Old: rs[1].Nonce, New: gone}})[0]; err != nil {
		t.Errorf("a node that is given back: %v", err)
	}
	if n := heldIn(t, s); n != 2 {
		t.Errorf("%d nodes are held after one was given back", n)
	}
}

// Another server took the last place while a request was under way, and then the count failed, the
// caller left, or the answer was lost: the node was kept all the same.
func TestNodesThatWereNotCounted(t *testing.T) {
	type scene struct {
		verb   Verb
		others int   // nodes that another server gave away meanwhile
		answer error // of the store to the write, which is there
		count  func(leave func()) error
	}
	count := func(func()) error { return nil }
	fails := func(func()) error { return errSilent }
	leaves := func(leave func()) error { leave(); return nil }
	for name, c := range map[string]scene{
		"a ticket":                      {VerbLease, 1, nil, count},
		"a ticket, the count fails":     {VerbLease, 0, nil, fails},
		"a ticket, the caller leaves":   {VerbLease, 1, nil, leaves},
		"a write":                       {VerbStore, 1, nil, count},
		"a write, the count fails":      {VerbStore, 0, nil, fails},
		"a write, the caller leaves":    {VerbStore, 1, nil, leaves},
		"a write, the answer is lost":   {VerbStore, 1, errSilent, count},
		"a write, answer and count too": {VerbStore, 0, errSilent, fails},
	} {
		t.Run(name, func(t *testing.T) {
			st, s := scripted(t, "n")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			st.end = func(errs []error) {
				if heldIn(t, s) == 0 {
					return // the namespace was written, not a node
				}
				st.end, errs[0] = nil, c.answer
				for i := range int64(c.others) {
					put(t, st, leased(t, s, "n", i, "shop/a", time.Minute))
				}
				st.count = func(context.Context) error { return c.count(leave) }
			}
			if err := takeNode(ctx, t, s, limited(t, 1, c.verb), c.verb, 5); err == nil {
				t.Error("the node was kept")
			}
			st.count = nil
			if n := heldIn(t, s); n != c.others {
				t.Errorf("%d nodes are held, not %d", n, c.others)
			}
		})
	}
}

// A node that was refused had another holder by then, who lost it.
func TestRefusedNodeOfSomebodyElseByNow(t *testing.T) {
	st, s := scripted(t, "n")
	id := limited(t, 1, VerbStore)
	st.end = func([]error) {
		put(t, st, leased(t, s, "n", 5, "other/5", time.Minute), leased(t, s, "n", 6, "shop/6", time.Minute),
			leased(t, s, "n", 7, "shop/7", time.Minute))
		st.end = nil
	}
	if err := takeNode(t.Context(), t, s, id, VerbStore, 5); KindOf(err) != TooMuch {
		t.Errorf("two servers took places meanwhile: %v", err)
	}
	rs, err := st.Get(t.Context(), []lease.Key{{Namespace: "n", Node: 5}})
	if err != nil || rs[0].Holder != "other/5.1" {
		t.Errorf("another holder lost its node: %+v, %v", rs, err)
	}
}
