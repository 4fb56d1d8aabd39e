package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
)

// TestGuardedNumber leases a number that processes derive for themselves, as the same
// fixed node: two have derived the same.
func TestGuardedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), thousand(t)
		node, err := nodes.Find(t.Context(), s, nodes.Number(7))
		if err != nil {
			t.Fatal(err)
		}
		options := func(label string, guard bool) lease.Options {
			return lease.Options{Node: &node, Guard: guard, Label: label, Create: true}
		}
		first := leased(t, st, s, options("web-7", true), 0)
		seen := map[snowfence.ID]bool{}
		use := func(r *running) snowfence.Parts {
			t.Helper()
			id, p := r.next()
			if seen[id] || p.Node != node {
				t.Fatalf("ID %d of node %d, made before: %v", id, p.Node, seen[id])
			}
			seen[id] = true
			return p
		}
		use(first)

		// A second process with the number is refused, and told who has it.
		o := options("batch-7", true)
		_, err = lease.Open(t.Context(), st, "default", s, &o)
		var held *lease.TakenError
		if !errors.As(err, &held) || held.Holders != "web-7" || held.Nodes.From != 7 || !strings.Contains(err.Error(), `node 7 of namespace "default" is held by "web-7" until `) {
			t.Fatalf("a second process with the number: %v", err)
		}
		use(first)

		// One with the same label is taken for a restart: it begins where the one before
		// was granted to, which goes on up to there and no further.
		until := records(t, st)[0].Until
		second := leased(t, st, s, options("web-7", true), 0)
		use(first)
		if p := use(second); p.Tick < until {
			t.Errorf("the restart begins at tick %d, and the one before has up to %d", p.Tick, until)
		}
		time.Sleep(2 * ttl)
		if _, err := first.g.TryNext(); !errors.Is(err, snowfence.ErrFenced) {
			t.Errorf("the process before the restart: %v", err)
		}
		use(second)

		// Whoever asks to take over gets the number in the same way, whatever the label.
		until = records(t, st)[0].Until
		third := leased(t, st, s, options("operator", false), 0)
		use(second)
		if p := use(third); p.Tick < until {
			t.Errorf("the take-over begins at tick %d, and the one before has up to %d", p.Tick, until)
		}
		time.Sleep(2 * ttl)
		if _, err := second.g.TryNext(); !errors.Is(err, snowfence.ErrFenced) {
			t.Errorf("the process that was taken over: %v", err)
		}
		use(third)

		// After a give-back the number is for anybody.
		third.stop()
		fourth := leased(t, st, s, options("batch-7", true), 0)
		use(fourth)
		for _, r := range []*running{first, second, fourth} {
			r.stop()
		}
	})
}

// A check may refuse a number that is leased as a fixed one, too.
func TestGuardedNumberChecked(t *testing.T) {
	st, s, node := store.NewMemory(), thousand(t), int64(7)
	taken := errors.New("somebody else has it")
	check := func(context.Context, int64) error { return taken }
	o := lease.Options{Node: &node, Guard: true, Create: true, Check: check}
	if _, err := lease.Open(t.Context(), st, "default", s, &o); !errors.Is(err, taken) ||
		!errors.Is(err, lease.ErrVetoed) {
		t.Errorf("a refused number: %v", err)
	}
}
