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

// testCrash restarts a process over and over, on one node: floors never run away.
func testCrash(w *world) {
	var top int64
	for i := range 20 {
		u := w.on(5)
		c := u.holds()
		if c.from < top {
			w.Fatalf("start %d: the grant begins at %d, below %d", i, c.from, top)
		}
		if limit := w.tick() + ttl.Milliseconds() + 20; c.until > limit {
			w.Fatalf("start %d: the grant reaches to %d, more than one ttl ahead, %d", i, c.until, limit)
		}
		u.produce(100)
		u.crash()
		top = c.until
		if i%5 == 4 {
			w.sleep(time.Second)
		}
	}
}

// testSkew has clocks that are hours apart take nodes from each other.
func testSkew(w *world) {
	for round := range 4 {
		var users []*user
		for _, skew := range []time.Duration{-time.Hour, 0, time.Hour, 10 * time.Hour, -30 * time.Minute} {
			for i := range int64(2) {
				o := w.options(skew)
				if i == 0 {
					node := int64(3)
					o.Node = &node
				}
				u, err := w.try(o)
				if err != nil {
					w.Fatal(err)
				}
				w.must(u.grant())
				u.produce(100)
				users = append(users, u)
			}
		}
		w.sleep(ttl / 2)
		for i, u := range users {
			ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
			if err := u.ask(ctx, u.tick()); err == nil {
				u.produce(100)
			}
			cancel()
			if (i+round)%2 == 0 {
				w.must(u.release())
				u.l.Orphan()
			} else {
				u.crash()
			}
		}
	}
}

func testStoreClock(w *world) {
	var off time.Duration
	w.st.mu.Lock()
	w.st.clock = func() time.Time { return w.time().Add(off) }
	w.st.mu.Unlock()
	u := w.on(1)
	w.sleep(ttl / 3)
	w.must(u.grant())

	w.st.mu.Lock()
	off = -2 * ttl
	w.st.mu.Unlock()
	w.sleep(ttl / 3)
	before := w.record(1)
	if err := u.refused(u.holds().until, anyTrouble); !errors.Is(err, lease.ErrSkew) ||
		!errors.Is(err, snowfence.ErrFenced) {
		w.Errorf("renewal with a clock that is off: %v, want ErrSkew", err)
	}
	if r := w.record(1); r != before {
		w.Error("a holder whose clock is off renewed its lease")
	}
	if u.produce(1) != 1 {
		w.Error("what was granted before can no longer be used")
	}
	if _, err := w.try(nil); !errors.Is(err, lease.ErrSkew) {
		w.Errorf("Open with a clock that is off: %v, want ErrSkew", err)
	}
	w.st.mu.Lock()
	off = 0
	w.st.mu.Unlock()
	w.must(u.grant())
}

func testLifetime(w *world) {
	last := w.scheme.Layout().EndOfLife()
	w.sleep(last.Sub(w.time()) - ttl/2)
	u := w.on(2)
	if c := u.holds(); c.until != w.scheme.MaxTick()+1 {
		w.Errorf("the last grant ends at %d, want %d", c.until, w.scheme.MaxTick()+1)
	}
	if err := u.grant(); !errors.Is(err, snowfence.ErrLifetime) {
		w.Errorf("beyond the last tick: %v, want ErrLifetime", err)
	}
	w.sleep(ttl)
	if _, err := w.try(nil); !errors.Is(err, snowfence.ErrLifetime) {
		w.Errorf("Open after the end: %v, want ErrLifetime", err)
	}
}
