package storetest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
)

// user is a lease with the simplest generator there can be: one ID a tick.
type user struct {
	w    *world
	l    *lease.Lease
	skew time.Duration

	mu       sync.Mutex
	claim    *claim // what it may use; nil when nothing
	next     int64  // tick of the next ID
	seals    int
	sealedAt int // calls to the store when the last seal came
	unbind   func()
}

// wide returns options of a namespace with grants far ahead of the clock.
func wide() *scope.NamespaceOptions {
	return &scope.NamespaceOptions{MaxTTL: 24 * time.Hour, MaxSkew: ttl}
}

// optionsOf of a lease in this world, with a clock that is off by skew.
func (w *world) optionsOf(skew time.Duration) *lease.Options {
	return &lease.Options{TTL: ttl, MaxSkew: ttl, Label: "test", Idle: -1, Time: w.skewedSource(skew)}
}

// openNode opens a lease on a fixed node and takes its first grant.
func (w *world) openNode(node int64) *user {
	w.Helper()
	o := w.optionsOf(0)
	o.Node = &node
	u := w.openLease(o)
	w.mustNot(u.askGrant())
	return u
}

func (w *world) openLease(o *lease.Options) *user {
	w.Helper()
	u, err := w.tryOpen(o)
	w.mustNot(err)
	return u
}

func (w *world) tryOpen(o *lease.Options) (*user, error) {
	o = cmp.Or(o, w.optionsOf(0))
	l, err := lease.Open(w.ctx, w.st, name, w.scheme, o)
	if err != nil {
		return nil, err
	}
	u := &user{w: w, l: l}
	now, _ := o.Time()
	u.skew = now.Sub(w.time())
	w.Cleanup(l.Orphan)
	return u, u.bindFence()
}

func (u *user) bindFence() (err error) {
	u.unbind, err = u.l.Bind(u.seal)
	return err
}

// seal is the lease's call: it counts the used ticks and ends the grant.
func (u *user) seal() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seals, u.sealedAt = u.seals+1, u.w.st.count()
	if u.claim == nil {
		return 0
	}
	used := u.next
	u.w.ledger.endClaim(u.claim, used)
	u.claim = nil
	return used
}

// grantPatience is how long a grant may take that has to come. It takes
// milliseconds, unless something is broken.
func (w *world) grantPatience() time.Duration { return w.shareOfTime(30, time.Minute) }

// shareOfTime returns a part of the test's remaining time, up to most. So
// an answer that never comes fails the test, and a slow machine does not.
func (w *world) shareOfTime(part int, most time.Duration) time.Duration {
	if end, ok := w.Deadline(); ok {
		return min(most, time.Until(end)/time.Duration(part))
	}
	return most
}

// askGrant asks for the first grant, or a grant that reaches further than
// the present one.
func (u *user) askGrant() error {
	u.mu.Lock()
	after := max(u.tick(), 0)
	if u.claim != nil {
		after = max(after, u.claim.until)
	}
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(u.w.ctx, u.w.grantPatience())
	defer cancel()
	return u.askAfter(ctx, after)
}

// awaitNotice asks until the holder was sealed and keeps a node again; the
// grant may begin ahead.
func (u *user) awaitNotice() {
	u.w.Helper()
	for deadline := time.Now().Add(u.w.grantPatience()); ; {
		ctx, cancel := context.WithTimeout(u.w.ctx, 10*time.Millisecond)
		_ = u.askAfter(ctx, u.l.Status().Grant.Until)
		cancel()
		if u.sealed() > 0 && u.l.Status().Grant.Until > 0 {
			return
		}
		if time.Now().After(deadline) {
			u.w.Fatalf("not sealed, or no other node: %+v", u.l.Status())
		}
	}
}

// passRaise waits until a floor that was raised now has come.
func (w *world) passRaise() { w.passTime(24*time.Hour + 2*ttl + time.Second) }

func (u *user) askAfter(ctx context.Context, after int64) error {
	for {
		u.mu.Lock()
		seals := u.seals
		u.mu.Unlock()
		g, err := u.l.Grant(ctx, after)
		if err != nil {
			return err
		}
		u.mu.Lock()
		if u.seals != seals {
			u.mu.Unlock()
			continue // it was taken back in the meantime
		}
		defer u.mu.Unlock()
		if g.Until <= after {
			return errors.New("the grant ends before the tick that was asked for")
		}
		if u.claim != nil && u.claim.from == g.From && u.claim.node == g.Node {
			u.w.ledger.raiseClaim(u.claim, g.Until)
			return nil
		}
		if u.claim != nil {
			u.w.ledger.endClaim(u.claim, u.next)
		}
		u.claim = u.w.ledger.addClaim(u, g)
		u.next = g.From
		return nil
	}
}

func (u *user) tick() int64 { return u.w.scheme.Layout().TickOf(u.w.time().Add(u.skew)) }

// makeIDs makes up to n IDs, as the clock stands, and reports how many it
// made.
func (u *user) makeIDs(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	made := 0
	for ; made < n && u.claim != nil; made++ {
		t := max(u.next, u.tick())
		if t >= u.claim.until {
			break
		}
		u.next = t + 1
	}
	return made
}

// giveBack gives the grant back as a generator's Close does.
func (u *user) giveBack() error {
	u.mu.Lock()
	c, used := u.claim, u.next
	if c != nil {
		u.w.ledger.endClaim(c, used)
		u.claim = nil
	}
	u.mu.Unlock()
	defer u.unbind()
	if c == nil {
		return nil
	}
	return u.l.Release(u.w.ctx, snowfence.Grant{Node: c.node, From: c.from, Until: c.until, Nodes: c.nodes}, used)
}

// endWithoutRelease ends the lease as the end of its process would: nothing
// is given back.
func (u *user) endWithoutRelease() {
	u.l.Orphan()
	<-u.l.Done()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.claim = nil // its claim stays in the ledger in full
}

func (u *user) sealed() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seals
}

func (u *user) heldClaim() claim {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claim == nil {
		return claim{node: -1}
	}
	return *u.claim
}
