package storetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

func testTaken(w *world) {
	var users []*user
	for i := range 16 {
		o := w.options(0)
		o.Label = "many"
		if i > 9 {
			o.Label = "few"
		}
		u := w.open(o)
		w.must(u.grant())
		users = append(users, u)
	}
	seen := map[int64]bool{}
	for _, u := range users {
		seen[u.holds().node] = true
	}
	if len(seen) != 16 {
		w.Fatalf("16 leases on %d nodes", len(seen))
	}
	w.sleep(time.Minute)
	_, err := w.try(nil)
	var taken *lease.TakenError
	if !errors.As(err, &taken) {
		w.Fatalf("Open with all nodes taken: %v", err)
	}
	if taken.Held != 16 || taken.NextFree != ttl-time.Minute ||
		taken.Holders != "many (10), few (6)" {
		w.Errorf("the error says %+v", *taken)
	}
	if text := err.Error(); !strings.Contains(text, "many (10)") ||
		!strings.Contains(text, (ttl-time.Minute).String()) {
		w.Errorf("the error reads %q", text)
	}
	// With Wait it waits, for ctx or a node.
	o := w.options(0)
	o.Wait = true
	for wait := time.Second; ; wait *= 2 { // until it is long enough for one look at the nodes
		ctx, cancel := context.WithTimeout(w.ctx, wait)
		_, err := lease.Open(ctx, w.through, name, w.scheme, o)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			w.Fatalf("waiting for a node until ctx ended: %v", err)
		}
		if errors.As(err, &taken) {
			break
		}
		if wait > w.patience() {
			w.Fatalf("waiting for a node for %v: %v", wait, err)
		}
	}
	users[3].produce(5)
	w.must(users[3].release())
	w.sleep(time.Second)
	u := w.open(o)
	w.must(u.grant())
	// And crashed holders free theirs after one ttl.
	for _, v := range users {
		v.crash()
	}
	w.sleep(ttl + time.Second)
	for range 15 {
		v := w.open(nil)
		w.must(v.grant())
		if v.holds().from > w.tick() {
			w.Errorf("a node of a crashed holder begins at %d, now is %d", v.holds().from, w.tick())
		}
	}
}

func testTakeOver(w *world) {
	u := w.on(7)
	u.produce(100)
	until := u.holds().until
	v := w.on(7)
	if v.holds().from != until {
		w.Errorf("the successor begins at %d, want the end of the holder, %d", v.holds().from, until)
	}
	if u.produce(10) != 10 {
		w.Error("the old holder cannot use the rest of what it was granted")
	}
	w.sleep(ttl / 3)
	var held *lease.TakenError
	if err := u.refused(until, func(err error) bool { return errors.As(err, &held) }); !errors.As(err, &held) ||
		!errors.Is(err, snowfence.ErrFenced) {
		w.Errorf("renewal of a node that was taken over: %v", err)
	}
	if u.sealed() != 1 {
		w.Errorf("the old holder was sealed %d times", u.sealed())
	}
	w.must(v.grant()) // it has it in peace
	w.must(v.release())
	w.must(u.grant())
	if u.holds().node != 7 {
		w.Errorf("healed with node %d", u.holds().node)
	}
}

func testGuard(w *world) {
	node := int64(7)
	guarded := func(label string) *lease.Options {
		o := w.options(0)
		o.Node, o.Guard, o.Label = &node, true, label
		return o
	}
	u := w.open(guarded("one"))
	w.must(u.grant())
	_, err := w.try(guarded("two"))
	var held *lease.TakenError
	if !errors.As(err, &held) || !held.Fixed || held.Holders != "one" || held.Nodes.From != 7 {
		w.Fatalf("a guarded node that another label holds: %v", err)
	}
	u.crash()
	v := w.open(guarded("one")) // a restart
	w.must(v.grant())
	v.crash()
	w.sleep(2 * ttl)
	w.must(w.open(guarded("two")).grant())
}

func testOperator(w *world) {
	u := w.open(nil)
	w.must(u.grant())
	u.produce(100)
	c := u.holds()
	r, err := lease.Namespaces(w.st).Release(w.ctx, name, c.node)
	w.must(err)
	if r.Until != c.until || r.Holder != "" {
		w.Errorf("released by an operator: %+v, granted were %+v", r, c)
	}
	w.sleep(ttl / 3)
	w.must(u.grant())
	if u.sealed() != 1 {
		w.Errorf("evicted, and sealed %d times", u.sealed())
	}
	c = u.holds()
	if _, err := lease.Namespaces(w.st).Veto(w.ctx, name, c.node, "broken rack"); err != nil {
		w.Fatal(err)
	}
	w.sleep(2 * ttl)
	w.must(u.grant())
	if u.holds().node == c.node {
		w.Error("a vetoed node was leased")
	}
	o := w.options(0)
	o.Node = &c.node
	if _, err := w.try(o); !errors.Is(err, lease.ErrVetoed) || !strings.Contains(err.Error(), "broken rack") {
		w.Errorf("Open of a vetoed node: %v", err)
	}
	for range 15 {
		if _, err := w.try(nil); err != nil {
			break
		}
	}
	var taken *lease.TakenError
	if _, err := w.try(nil); !errors.As(err, &taken) || taken.Refused != 1 {
		w.Errorf("with one node vetoed and all others taken: %v", err)
	}
	_, err = lease.Namespaces(w.st).Veto(w.ctx, name, c.node, "")
	w.must(err)
	w.must(w.on(c.node).release())
	if _, err := lease.Namespaces(w.st).Release(w.ctx, name, 16); err == nil {
		w.Error("a node outside the layout was released")
	}
}

func testCheck(w *world) {
	var asked atomic.Int64
	o := w.options(0)
	o.Check = func(_ context.Context, node int64) error {
		asked.Add(1)
		if node != 11 {
			return errors.New("not this one")
		}
		return nil
	}
	u := w.open(o)
	w.must(u.grant())
	if u.holds().node != 11 {
		w.Errorf("leased node %d", u.holds().node)
	}
	var taken *lease.TakenError
	if _, err := w.try(o); !errors.As(err, &taken) || taken.Held != 1 || taken.Refused != 15 ||
		!strings.Contains(err.Error(), "not this one") {
		w.Errorf("with all nodes refused or held: %v", err)
	}
	node := int64(3)
	o.Node = &node
	if _, err := w.try(o); !errors.Is(err, lease.ErrVetoed) {
		w.Errorf("Open of a node that is refused: %v", err)
	}
}

func testBlocks(w *world) {
	single := w.on(5)
	o := w.options(0)
	o.Nodes = 4
	var blocks []*user
	for range 3 {
		u := w.open(o)
		w.must(u.grant())
		if c := u.holds(); c.nodes != 4 || c.node%4 != 0 || c.node == 4 {
			w.Fatalf("block %+v beside node 5", c)
		}
		u.produce(10)
		blocks = append(blocks, u)
	}
	var taken *lease.TakenError
	if _, err := w.try(o); !errors.As(err, &taken) || taken.Block != 4 {
		w.Errorf("a fourth block beside a single node: %v", err)
	}
	w.sleep(ttl / 3)
	u := blocks[0]
	w.must(u.grant())
	for i := range int64(4) {
		if r := w.record(u.holds().node + i); r.Until < u.holds().until {
			w.Errorf("the block is granted to %d, and node %d only to %d", u.holds().until, r.Node, r.Until)
		}
	}
	used := u.next
	first := u.holds().node
	w.must(u.release())
	for i := range int64(4) {
		if r := w.record(first + i); r.Until != used || r.Holder != "" {
			w.Errorf("given back with %d used: %+v", used, r)
		}
	}
	// One node of a block is taken over: the whole block is lost.
	v := blocks[1]
	w.on(v.holds().node + 2)
	w.sleep(ttl / 3)
	w.must(v.grant())
	if v.sealed() != 1 {
		w.Errorf("a block that lost a node was sealed %d times", v.sealed())
	}
	w.must(single.release())
}
