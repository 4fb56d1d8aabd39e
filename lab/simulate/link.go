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
func (k link) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	return k.fetchList(ctx, "get", func() []store.Record { return k.p.s.store.get(keys) })
}

// found is the answer to a read.
type found struct {
	records []store.Record
	reply   store.Reply
}

// fetchList asks for a list. The caller may change it.
func (k link) fetchList(
	ctx context.Context, what string, do func() []store.Record,
) (_ []store.Record, reply store.Reply, _ error) {
	reply, err := k.askApart(ctx)
	if err != nil {
		return nil, reply, err
	}
	out, err := k.sendRequest(ctx, what, func() any { return found{do(), k.p.s.storeReply()} }, nil)
	if err != nil {
		return nil, reply, err
	}
	answer := out.(found)
	return slices.Clone(answer.records), k.replyOf(answer.reply, reply), nil
}

// askApart asks a store whose answers do not tell its identity. A swap
// tells what was asked last.
func (k link) askApart(ctx context.Context) (store.Reply, error) {
	if !k.p.s.store.apart {
		return store.Reply{}, nil
	}
	out, err := k.sendRequest(ctx, "identity", func() any { return k.p.s.storeReply() }, nil)
	if err != nil {
		return store.Reply{}, err
	}
	k.p.told = out.(store.Reply)
	return k.p.told, nil
}

// replyOf returns the reply of an answer, or the reply that was asked for
// before it.
func (k link) replyOf(answer, before store.Reply) store.Reply {
	if k.p.s.store.apart {
		return before
	}
	return answer
}

// storeReply is the reply of the store now.
func (s *sim) storeReply() store.Reply {
	r := store.Reply{Identity: s.store.name()}
	if s.store.clock {
		r.Now = start().Add(s.now)
	}
	return r
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
) ([]store.Record, store.Reply, error) {
	return k.fetchList(ctx, "list", func() []store.Record { return k.p.s.store.list(namespace, nodes, limit) })
}

// Heads implements store.Store.
func (k link) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return k.fetchList(ctx, "heads", func() []store.Record { return k.p.s.store.heads() })
}

// swapped is the answer to a swap.
type swapped struct {
	errs  []error
	then  []store.Record
	reply store.Reply
}

// Swap implements store.Store. A batch may be cut in two, of which the
// second part is lost or comes late.
func (k link) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	p := k.p
	before := p.told
	if before == (store.Reply{}) {
		var err error
		if before, err = k.askApart(ctx); err != nil {
			return slices.Repeat([]error{err}, len(writes)), nil, before
		}
	}
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
		var read []store.Record
		if p.s.store.rides && len(then) > 0 {
			read = p.s.store.get(then)
		}
		return swapped{errs, read, p.s.storeReply()}
	}
	out, err := k.sendRequest(ctx, "swap", do, func(out any) { p.s.noteAnswers(k.h, writes, out.(swapped).errs) })
	if err != nil {
		p.s.noteUnanswered(k.h, writes)
		return slices.Repeat([]error{err}, len(writes)), nil, before
	}
	answer := out.(swapped)
	return slices.Clone(answer.errs), slices.Clone(answer.then), k.replyOf(answer.reply, before)
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
	r     store.Record
	err   error
	reply store.Reply
}

// Add implements store.Store.
func (k link) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	if !k.p.s.store.adds || k.p.s.store.apart {
		return k.Basic.Add(ctx, a)
	}
	out, err := k.sendRequest(ctx, "add", func() any {
		r, err := k.p.s.carryAddition(k.p, a)
		return added{r, err, k.p.s.storeReply()}
	}, nil)
	if err != nil {
		return store.Record{}, store.Reply{}, err
	}
	answer := out.(added)
	return answer.r, answer.reply, answer.err
}

// Suspect implements store.Store.
func (k link) Suspect(ctx context.Context, identity string) error {
	_, err := k.sendRequest(ctx, "suspect", func() any { k.p.s.changeIdentity(k.p, identity); return nil }, nil)
	return err
}
