package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// errUnanswered is a client's error when the store's answer does not come.
var errUnanswered = errors.New("the store did not answer")

// link is the store as one process reaches it. Each call is a message there
// and a message back, and anything can happen to either.
type link struct {
	store.Basic
	p    *process
	h    *holding // whose lease uses it; nil for the operator and for takers of numbers
	near bool     // nothing fails, and no time passes
	peer bool     // it leads to a lessor, not to the store
}

// call is one request of a process.
type call struct {
	done chan struct{}
	out  any
	err  error
	over bool // answered, or given up
}

// Get implements store.Store.
func (k link) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	return k.fetchList(ctx, "get", func() []store.Record { return k.p.s.store.get(keys) })
}

// fetchList asks for a list. The caller may change it.
func (k link) fetchList(ctx context.Context, what string, do func() []store.Record) ([]store.Record, error) {
	out, err := k.sendRequest(ctx, what, func() any { return do() }, nil)
	if err != nil {
		return nil, err
	}
	return slices.Clone(out.([]store.Record)), nil
}

// sendRequest sends a request. do is the store's work when the request
// arrives; it is done twice when the request is doubled.
func (k link) sendRequest(ctx context.Context, what string, do func() any, got func(any)) (any, error) {
	p := k.p
	if k.near {
		return do(), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &call{done: make(chan struct{})}
	n := len(p.calls)
	p.calls = append(p.calls, c)
	if !p.replay {
		k.passRequest(n, c, what, do)
	}
	ended := p.Wait(-1, c.done, ctx.Done())
	p.calls[n] = nil
	if c.over = true; ended == 1 {
		return nil, ctx.Err()
	}
	if c.err == nil && got != nil {
		got(c.out)
	}
	return c.out, c.err
}

// passRequest is the way of a request and back.
func (k link) passRequest(n int, c *call, what string, do func() any) {
	p, s := k.p, k.p.s
	down := func() bool { return !k.peer && s.store.down > s.now }
	s.figures.Calls++
	there, back := p.drawLatency(), p.drawLatency()
	answer := func(after time.Duration, out any, err error) {
		s.runAfter(after, func() { p.deliverReply(n, c, out, err) })
	}
	fail := func() { answer(p.drawPatience(), nil, fmt.Errorf("%s: %w", what, errUnanswered)) }
	switch {
	case p.apart > s.now || down():
		s.countFault(faultRefused, p)
		fail()
		return
	case s.drawFault(faultLostRequest, p, 0):
		fail()
		return
	case s.drawFault(faultLateRequest, p, 0): // the caller has long given up when it is carried out
		s.runAfter(time.Duration(p.env.Int64N(int64(3*s.ttl))), func() { do() })
		fail()
		return
	case s.drawFault(faultCrashBefore, p, 0):
		p.crashSoon(0)
	}
	if s.drawFault(faultDoubled, p, 0) {
		s.runAfter(there+time.Duration(p.env.Int64N(int64(s.ttl))), func() { do() })
	}
	s.runAfter(there, func() {
		if down() {
			fail()
			return
		}
		out := do()
		switch {
		case p.dead:
		case p.apart > s.now || s.drawFault(faultLostReply, p, 0):
			fail()
		case s.drawFault(faultCrashAfter, p, 0):
			p.crashSoon(0)
		case s.drawFault(faultLateReply, p, 0):
			answer(time.Duration(p.env.Int64N(int64(2*s.ttl))), out, nil)
		default:
			answer(back, out, nil)
		}
	})
}

// deliverReply delivers a reply, unless no call waits for it any more.
func (p *process) deliverReply(n int, c *call, out any, err error) {
	switch {
	case p.dead || c.over:
		return
	case p.pausedUntil > p.s.now:
		p.s.runAt(p.pausedUntil, func() { p.deliverReply(n, c, out, err) })
		return
	}
	c.over, c.out, c.err = true, out, err
	if p.verbose {
		p.logEntry(entry{what: replied, index: n})
		p.replies = append(p.replies, reply{out, err})
	}
	close(c.done)
	p.wakeReady()
}

// drawPatience is the time until a client gives up: at once when the
// connection is refused, or after a while.
func (p *process) drawPatience() time.Duration {
	if p.env.IntN(2) == 0 {
		return p.drawLatency()
	}
	return time.Duration(p.env.Int64N(int64(p.s.ttl)))
}

// drawLatency is the time of a message on its way.
func (p *process) drawLatency() time.Duration {
	d := time.Duration(50_000 + p.env.IntN(500_000))
	if d%16 == 0 {
		d *= 20
	}
	return d
}

func (p *process) crashSoon(d time.Duration) {
	p.s.runAfter(d, func() { p.s.killProcess(p) })
}

// List implements store.Store.
func (k link) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	return k.fetchList(ctx, "list", func() []store.Record { return k.p.s.store.list(namespace, nodes, limit) })
}

// Heads implements store.Store.
func (k link) Heads(ctx context.Context) ([]store.Record, error) {
	return k.fetchList(ctx, "heads", func() []store.Record { return k.p.s.store.heads() })
}

// Swap implements store.Store. A batch may be cut in two, of which the
// second part is lost or comes late.
func (k link) Swap(ctx context.Context, writes []store.Write) []error {
	p := k.p
	k.h.noteWrites(writes)
	cut := len(writes)
	if cut > 1 && !k.near && !p.replay && p.s.drawFault(faultCut, p, 0) {
		cut = p.env.IntN(cut)
	}
	do := func() any {
		errs := make([]error, len(writes))
		for i, w := range writes {
			if i >= cut {
				errs[i] = errUnanswered
				p.s.runAfter(p.drawLatency(), func() { p.s.carryWrite(p, w) })
				continue
			}
			errs[i] = p.s.carryWrite(p, w)
		}
		return errs
	}
	out, err := k.sendRequest(ctx, "swap", do, func(out any) { p.s.noteAnswers(k.h, writes, out.([]error)) })
	if err != nil {
		errs := make([]error, len(writes))
		for i := range errs {
			errs[i] = err
		}
		p.s.noteUnanswered(k.h, writes)
		return errs
	}
	return slices.Clone(out.([]error))
}

// noteWrites notes the writes of a lease as soon as it sends them.
func (h *holding) noteWrites(writes []store.Write) {
	if h == nil {
		return
	}
	for _, w := range writes {
		h.attempts[w.New.Node] = max(h.attempts[w.New.Node], w.New.Until)
		if h.sharedRenewal != "" && strings.HasPrefix(w.New.Nonce, h.sharedRenewal+".") {
			h.shareUntil(w.New.Node, w.New.Until)
		}
	}
}

// shareUntil notes that both copies of a machine hold a node up to a tick,
// because both have sent one renewal. To the server they are one holder.
func (h *holding) shareUntil(node, until int64) {
	for _, c := range h.claims {
		if c.twin != nil && c.node <= node && node < c.node+c.nodes {
			c.sharedUntil, c.twin.sharedUntil = max(c.sharedUntil, until), max(c.twin.sharedUntil, until)
		}
	}
}

// added is the answer to an addition.
type added struct {
	r   store.Record
	err error
}

// Add implements store.Store.
func (k link) Add(ctx context.Context, a store.Addition) (store.Record, error) {
	if !k.p.s.store.adds {
		return k.Basic.Add(ctx, a)
	}
	out, err := k.sendRequest(ctx, "add", func() any { return k.p.s.carryAddition(k.p, a) }, nil)
	if err != nil {
		return store.Record{}, err
	}
	return out.(added).r, out.(added).err
}

// Identity implements store.Store.
func (k link) Identity(ctx context.Context, _ string) (string, error) {
	out, err := k.sendRequest(ctx, "identity", func() any { return k.p.s.store.name() }, nil)
	if err != nil {
		return "", err
	}
	return out.(string), nil
}

// Suspect implements store.Store.
func (k link) Suspect(ctx context.Context, identity string) error {
	_, err := k.sendRequest(ctx, "suspect", func() any { k.p.s.changeIdentity(k.p, identity); return nil }, nil)
	return err
}

// Now implements store.Store.
func (k link) Now(ctx context.Context) (time.Time, error) {
	if !k.p.s.store.clock {
		return time.Time{}, nil
	}
	out, err := k.sendRequest(ctx, "time", func() any { return start().Add(k.p.s.now) }, nil)
	if err != nil {
		return time.Time{}, err
	}
	return out.(time.Time), nil
}
