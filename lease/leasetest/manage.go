package leasetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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
	if taken.Held != 16 || taken.NextFree != ttl-time.Minute || !slices.Equal(taken.Labels, []lease.LabelCount{{Label: "many", Nodes: 10}, {Label: "few", Nodes: 6}}) {
		w.Errorf("the error says %+v", *taken)
	}
	if text := err.Error(); !strings.Contains(text, "many (10)") || !strings.Contains(text, "29m0s") {
		w.Errorf("the error reads %q", text)
	}
	// With Wait it waits, for ctx or a node.
	o := w.options(0)
	o.Wait = true
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	if _, err := lease.Open(ctx, w.st, name, w.scheme, o); !errors.As(err, &taken) || !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("waiting for a node until ctx ended: %v", err)
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
	ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
	defer cancel()
	var held *lease.HeldError
	if err := u.ask(ctx, until); !errors.As(err, &held) || !errors.Is(err, snowfence.ErrFenced) {
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
	var held *lease.HeldError
	if !errors.As(err, &held) || held.Label != "one" || held.Node != 7 {
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
	r, err := lease.ReleaseNode(w.ctx, w.st, name, c.node)
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
	if _, err := lease.VetoNode(w.ctx, w.st, name, c.node, "broken rack"); err != nil {
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
	_, err = lease.VetoNode(w.ctx, w.st, name, c.node, "")
	w.must(err)
	w.must(w.on(c.node).release())
	if _, err := lease.ReleaseNode(w.ctx, w.st, name, 16); err == nil {
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
	if _, err := w.try(o); !errors.As(err, &taken) || taken.Held != 1 || taken.Refused != 15 || !strings.Contains(err.Error(), "not this one") {
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

// testChange changes the layout while others renew: nothing of the old one is granted beyond where the new one begins.
func testChange(w *world) {
	var users []*user
	for range 6 {
		u := w.open(nil)
		w.must(u.grant())
		users = append(users, u)
	}
	to := w.layout("time=39,seq=8,node=16,epoch=2024-01-01,tick=10ms")
	var wg sync.WaitGroup
	for _, u := range users {
		wg.Go(func() {
			for u.l.Err() == nil {
				w.sleep(time.Minute)
				ctx, cancel := context.WithTimeout(w.ctx, 5*time.Millisecond)
				_ = u.ask(ctx, max(u.holds().until, u.tick()))
				cancel()
				u.produce(10)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	ns, err := lease.ChangeLayout(w.ctx, w.st, name, to, nil, true)
	w.must(err)
	wg.Wait()
	var mismatch *lease.MismatchError
	for _, u := range users {
		if err := u.l.Err(); !errors.As(err, &mismatch) || !errors.Is(err, lease.ErrEnded) {
			w.Errorf("a lease of the old layout ended with %v", err)
		}
	}
	if got, old := to.Layout().TimeOf(ns.Floor), w.scheme.Layout().TimeOf(w.ledger.top(-1)); got.Before(old) {
		w.Errorf("the new layout begins at %v, and the old one was granted to %v", got, old)
	}
	w.scheme, w.ledger.claims = to, nil // ticks and nodes are others now
	node := int64(3)
	o := w.options(0)
	o.Node = &node
	u := w.open(o)
	w.must(u.ask(w.ctx, ns.Floor))
	if u.holds().from < ns.Floor {
		w.Errorf("a grant of the new layout begins at %d, below the floor %d", u.holds().from, ns.Floor)
	}
	if _, err := w.try(nil); err != nil {
		w.Errorf("any node of the new layout: %v", err)
	}
}

// testChangeBetween changes the layout after a renewal was written and before it is used.
func testChangeBetween(w *world) {
	u := w.on(4)
	u.produce(10)
	w.sleep(ttl / 3)
	until := u.holds().until
	to := w.layout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	var ns lease.Namespace
	var hit sync.Once
	w.st.fail(nil, func(op string, _ int) (err error) {
		if op == "swap" {
			hit.Do(func() {
				w.st.fail(nil, nil)
				ns, err = lease.ChangeLayout(w.ctx, w.st, name, to, nil, true)
			})
		}
		return err
	})
	ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
	defer cancel()
	if err := u.ask(ctx, until); err == nil {
		w.Errorf("a renewal was used after the namespace changed: %+v", u.holds())
	}
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	if ns.Floor < until {
		w.Errorf("the floor %d is below what was granted, %d", ns.Floor, until)
	}
}

// testChangeFloors lets a holder renew after the floors were read for a change, before it is done: it must not use what it wrote.
func testChangeFloors(w *world) {
	u := w.on(4)
	u.produce(10)
	w.sleep(ttl / 3)
	until := u.holds().until
	to := w.layout("time=41,node=6,seq=8,epoch=2025-01-01,tick=1ms")
	var hit sync.Once
	w.st.fail(nil, func(op string, _ int) error {
		if op == "list" {
			hit.Do(func() {
				ctx, cancel := context.WithTimeout(w.ctx, 200*time.Millisecond)
				defer cancel()
				if err := u.ask(ctx, until); err == nil {
					w.Errorf("a renewal was used while the layout was changing: %+v", u.holds())
				}
			})
		}
		return nil
	})
	ns, err := lease.ChangeLayout(w.ctx, w.st, name, to, nil, true)
	w.must(err)
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	if top := w.ledger.top(-1); ns.Floor < top {
		w.Errorf("the new layout begins at %d, and the old one was granted to %d", ns.Floor, top)
	}
}

func testRefusedChange(w *world) {
	u := w.on(4)
	u.produce(10)
	to := w.layout("time=41,node=4,seq=10,epoch=2025-06-01,tick=1ms") // a later epoch: the same IDs again
	_, err := lease.ChangeLayout(w.ctx, w.st, name, to, nil, false)
	if err == nil || !strings.Contains(err.Error(), "can be made by both") {
		w.Fatalf("a change that repeats IDs: %v", err)
	}
	ns, err := lease.ShowNamespace(w.ctx, w.st, name)
	w.must(err)
	if ns.State != lease.Active || ns.Fingerprint != w.scheme.Fingerprint() {
		w.Errorf("after a refused change: %+v", ns)
	}
	w.sleep(ttl / 3)
	w.must(u.grant()) // it heals
	older := w.layout("time=41,node=4,seq=10,epoch=2024-01-01,tick=1ms")
	_, err = lease.ChangeLayout(w.ctx, w.st, name, older, nil, false)
	w.must(err)
}

func testDeleted(w *world) {
	u := w.on(4)
	u.produce(10)
	until := u.holds().until
	ns, err := lease.DeleteNamespace(w.ctx, w.st, name)
	w.must(err)
	if ns.Floor < until {
		w.Errorf("the tombstone's floor is %d, granted were ticks to %d", ns.Floor, until)
	}
	w.sleep(ttl / 3)
	if err := u.grant(); !errors.Is(err, lease.ErrNoNamespace) || !errors.Is(err, lease.ErrEnded) {
		w.Errorf("a renewal in a deleted namespace: %v", err)
	}
	<-u.l.Done()
	if u.sealed() != 1 {
		w.Errorf("sealed %d times", u.sealed())
	}
	o := w.options(0)
	o.Create = true
	if _, err := w.try(o); !errors.Is(err, lease.ErrNoNamespace) {
		w.Errorf("Open in a deleted namespace: %v", err)
	}
	_, err = lease.CreateNamespace(w.ctx, w.st, name, w.scheme, nil)
	w.must(err)
	for range 15 { // all but the one whose holder has not run out
		v := w.open(nil)
		w.must(v.ask(w.ctx, ns.Floor))
		if v.holds().from < until {
			w.Errorf("a grant in the new namespace begins at %d, below %d", v.holds().from, until)
		}
	}
}

func testMismatch(w *world) {
	other := w.layout("twitter")
	var mismatch *lease.MismatchError
	if _, err := lease.Open(w.ctx, w.st, name, other, w.options(0)); !errors.As(err, &mismatch) || mismatch.Stored != w.scheme.Fingerprint() {
		w.Errorf("Open with another layout: %v", err)
	}
	if _, err := lease.CreateNamespace(w.ctx, w.st, name, other, nil); !errors.As(err, &mismatch) {
		w.Errorf("CreateNamespace with another layout: %v", err)
	}
	if _, err := lease.Open(w.ctx, w.st, "missing", other, w.options(0)); !errors.Is(err, lease.ErrNoNamespace) {
		w.Errorf("Open of a namespace that is not there: %v", err)
	}
	ns, err := lease.CreateNamespace(w.ctx, w.st, "second", other, &lease.NamespaceOptions{First: 30, Last: 63})
	w.must(err)
	for range 5 {
		l, err := lease.Open(w.ctx, w.st, "second", other, w.options(0))
		w.must(err)
		if n := l.Status().Grant.Node; n < ns.First || n > ns.Last {
			w.Errorf("leased node %d outside %d to %d", n, ns.First, ns.Last)
		}
		w.must(l.Close(w.ctx))
	}
	list, err := lease.ListNamespaces(w.ctx, w.st)
	w.must(err)
	if len(list) != 2 || list[0].Name != name || list[1].Name != "second" {
		w.Errorf("ListNamespaces: %+v", list)
	}
}
