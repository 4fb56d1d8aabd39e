package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

func testLife(w *world) {
	u := w.open(nil)
	w.must(u.grant())
	first := u.holds()
	if want := w.tick() + ttl.Milliseconds(); first.until != want {
		w.Errorf("the first grant ends at %d, want one ttl from now, %d", first.until, want)
	}
	if u.produce(1000) != 1000 {
		w.Fatal("could not use the grant")
	}
	for range 3 {
		w.sleep(ttl / 3)
		w.must(u.grant())
		if c := u.holds(); c.from != first.from || c.node != first.node || c.until != w.tick()+ttl.Milliseconds() {
			w.Fatalf("renewed: %+v, first %+v", c, first)
		}
		r := w.record(first.node)
		if r.Until != u.holds().until || r.Holder == "" || r.Label != "test" {
			w.Fatalf("the grant of %+v stands as %+v", u.holds(), r)
		}
		u.produce(1000)
	}
	if _, ok := u.l.Held(w.tick()); !ok {
		w.Errorf("a grant in memory is not at hand")
	}
	if g, ok := u.l.Held(u.holds().until); ok {
		w.Errorf("past the end of the grant, %+v is at hand", g)
	}
	done, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := u.l.Grant(done, u.holds().until); !errors.Is(err, snowfence.ErrFenced) {
		w.Errorf("a grant that is not there, with a ctx that is done: %v, want ErrFenced", err)
	}
	used := u.next
	w.must(u.release())
	if r := w.record(first.node); r.Until != used || r.Holder != "" {
		w.Errorf("given back with %d used: %+v", used, r)
	}
	w.must(u.bind())
	w.sleep(time.Second)
	w.must(u.grant())
	if u.holds().from < used && u.holds().node == first.node {
		w.Errorf("the grant after a give-back starts at %d, below %d", u.holds().from, used)
	}
	u.produce(10)
	node := u.holds().node
	used = u.next
	w.must(u.l.Shutdown(w.ctx))
	if u.sealed() != 1 {
		w.Errorf("Close sealed the generator %d times", u.sealed())
	}
	if r := w.record(node); r.Until != used || r.Holder != "" {
		w.Errorf("closed with %d used: %+v", used, r)
	}
	if _, err := u.l.Grant(w.ctx, w.tick()); !errors.Is(err, lease.ErrEnded) {
		w.Errorf("a grant after Close: %v", err)
	}
	if err := u.l.Shutdown(w.ctx); err != nil {
		w.Errorf("second Close: %v", err)
	}
}
