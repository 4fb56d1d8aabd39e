package server

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/wire"
)

// A token with a limit of two nodes took 1,024: it gave each back without
// saying what it had used, so that the node was of use to nobody and
// counted for nobody. The sizes are drawn.
func TestNodesThatNobodyElseCanUseCount(t *testing.T) {
	for try := range 6 {
		inUnits := try%2 == 1
		limit, unit := 1+mathrand.IntN(7), int64(1)
		if inUnits {
			unit = 8 << mathrand.IntN(4)
		}
		t.Run(fmt.Sprintf("%d nodes in units of %d", limit, unit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { spend(t, limit, unit) })
		})
	}
}

func spend(t *testing.T, limit int, unit int64) {
	afterEpoch()
	st := newStore(t)
	o := &scope.NamespaceOptions{Unit: unit, Nodes: snowfence.NodeRange{Until: 128}}
	must(scope.Namespaces(st).Create(t.Context(), "n", scheme(t, "twitter"), o))
	s, id := newService(t, st, Options{}), limited(t, limit, VerbLease)
	take := func(r wire.Request, used func(wire.Lease) int64) error {
		r.Label, r.Attempt = "x", rand.Text()
		g, _, err := s.Leases.Acquire(t.Context(), id, "n", r)
		if err == nil {
			err = s.Leases.Release(t.Context(), g.Lease, used(g.Lease))
		}
		return err
	}
	attack := func() (got int) {
		for i := range int64(40) {
			r := wire.Request{}
			if i%2 == 1 { // certain nodes
				first := i * 8 % 128 / unit * unit
				r.Within = snowfence.NodeRange{From: first, Until: first + max(unit, 8)}
			}
			if i%4 > 1 { // as if an answer had been lost
				r.Earlier = []string{rand.Text()}
			}
			err := take(r, func(wire.Lease) int64 { return -1 })
			switch {
			case err == nil:
				got++
			case KindOf(err) != TooMuch && (unit == 1 || KindOf(err) != KindOf(lease.ErrTaken)):
				t.Fatal(err)
			}
		}
		return got
	}
	for range 2 {
		if got := attack(); got != limit {
			t.Errorf("took %d nodes", got)
		}
		time.Sleep(2 * time.Second) // the lessor counts each second
		ahead, now := 0, scheme(t, "twitter").Layout().TickOf(time.Now())
		for _, r := range leasesOf(t, st) {
			if r.Until > now {
				ahead++
			}
		}
		want := limit
		if unit > 1 {
			want = 1 + limit*5/int(unit*4+1) // a unit in use beyond four fifths has another one ahead of demand
		}
		if ahead != want {
			t.Errorf("%d records are of no use to others, not %d", ahead, want)
		}
		time.Sleep(15 * time.Second)
	}
	for range 40 { // what was not used counts for nobody
		noError(t, take(wire.Request{}, func(l wire.Lease) int64 { return l.Grant.From }))
	}
}

// Each user of a host has a quarter of a unit, and leaves the rest to
// others. Nodes that it gives back without a word count. The sizes are
// drawn.
func TestUsersOfAHostHaveAQuarterOfAUnit(t *testing.T) {
	for range 3 {
		unit := int64(4) << mathrand.IntN(7)
		t.Run(fmt.Sprint(unit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { share(t, unit) })
		})
	}
}

func share(t *testing.T, unit int64) {
	afterEpoch()
	st := newStore(t)
	must(scope.Namespaces(st).Create(t.Context(), "n", scheme(t, "twitter"), &scope.NamespaceOptions{Unit: unit}))
	s, a := newService(t, st, Options{}), NewHostAuth(int(unit/4))
	for range 2 {
		for user := range uint32(3) {
			for got := int64(0); ; got++ {
				want := wire.Request{Label: "x", Attempt: rand.Text()}
				g, _, err := s.Leases.Acquire(t.Context(), a.User(user), "n", want)
				if err == nil && got%2 == 0 {
					err = s.Leases.Release(t.Context(), g.Lease, -1)
				}
				if err == nil {
					continue
				}
				if got != unit/4 || KindOf(err) != TooMuch {
					t.Errorf("user %d took %d nodes: %v", user, got, err)
				}
				break
			}
		}
		time.Sleep(2 * time.Second)
		if n := len(leasesOf(t, st)); n != 1 {
			t.Errorf("%d units are leased", n)
		}
		time.Sleep(15 * time.Second)
	}
}
