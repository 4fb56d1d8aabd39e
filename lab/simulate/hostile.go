package simulate

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// server leases nodes of the store by tickets, as a server does that is on
// the way to it. Its clock is the true one. A reply may be lost on the way
// back.
type server struct {
	st   store.Store
	p    *process
	s    *snowfence.Scheme
	h    *holding // of the client; nil for a hostile one
	lose func() bool
}

func (v server) leaseOptions() *lease.Options {
	return &lease.Options{
		MaxSkew: v.p.s.skew, Logger: slog.New(slog.DiscardHandler),
		Time: func() (time.Time, time.Duration) { return v.p.trueTime(), v.p.virtualTime() },
	}
}

// leaseServer is the server without its clients' network.
func (v server) leaseServer() wire.Server { return lease.Serve(v.st, v.s, v.leaseOptions()) }

// Acquire implements wire.Server.
func (v server) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	return v.answerLate(v.leaseServer().Acquire(ctx, name, r))
}

func (v server) answerLate(l wire.Lease, err error) (wire.Lease, error) {
	if err == nil && v.lose() {
		err = errUnanswered
	}
	if err != nil {
		return wire.Lease{}, err
	}
	return l, nil
}

// Renew implements wire.Server.
func (v server) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	if v.h != nil {
		v.h.renewal = attempt
		defer func() { v.h.renewal = "" }()
	}
	l, err := v.leaseServer().Renew(ctx, t, attempt, earlier)
	if errors.Is(err, store.ErrLost) { // the client knows it from here on
		g := said(t).Grant
		for n := g.Node; n < g.Node+g.Nodes; n += v.p.s.unit {
			v.p.s.loseNode(v.h, n, v.h.acks[n])
		}
	}
	return v.answerLate(l, err)
}

// Release implements wire.Server.
func (v server) Release(ctx context.Context, t wire.Ticket, used int64) error {
	_, err := v.answerLate(wire.Lease{}, v.leaseServer().Release(ctx, t, used))
	return err
}

// said returns the claims of a ticket, and nothing if it is damaged.
func said(t wire.Ticket) wire.Lease {
	l, _ := lease.ReadTicket(t)
	return l
}

// hostile is a client of a server, which lies in every field of its tickets
// and requests. Its network never fails. Some of the others go through a
// server, too.
type hostile struct {
	s       *sim
	chance  *rand.Rand
	tickets []wire.Ticket // all that it ever had, and some that it made up
	tries   []string      // its attempts
}

// placeHostile decides whether the run has a hostile client, and which
// slots are clients of a server. Its choices are its own, so that runs
// without one are as before.
func (s *sim) placeHostile() {
	chance := rand.New(rand.NewPCG(s.plan.Seed, 7))
	if chance.IntN(4) > 0 && !s.plan.hostile {
		return
	}
	s.hostile = &hostile{s: s, chance: chance}
	for _, sl := range s.slots {
		sl.overServer = chance.IntN(2) == 0
	}
}

// trueTime is a server's clock, as a process sees it.
func (p *process) trueTime() time.Time { return start().Add(p.virtualTime()) }

// actOnce lets the client do something, and plans the next.
func (x *hostile) actOnce() {
	s := x.s
	if s.calm {
		return
	}
	s.runAfter(time.Duration(x.chance.Int64N(int64(s.ttl))), x.actOnce)
	ctx := world.With(context.Background(), s.operator)
	v := server{s.directLink(), s.operator, s.schemes[s.era], nil, func() bool { return false }}
	for range 1 + x.chance.IntN(6) {
		if len(x.tickets) == 0 || x.chance.IntN(4) == 0 {
			x.acquireNode(ctx, v)
			continue
		}
		t := x.forgeTicket(x.anyTicket())
		if x.chance.IntN(3) == 0 {
			_ = x.drawServer(v).Release(ctx, t, x.drawTick())
		} else if next, err := x.drawServer(v).Renew(ctx, t, x.drawAttempt(), x.tries); err == nil {
			x.keepTicket(next.Ticket)
		}
	}
}

func (x *hostile) anyTicket() wire.Ticket { return x.tickets[x.chance.IntN(len(x.tickets))] }

func (x *hostile) keepTicket(t wire.Ticket) {
	if x.tickets = append(x.tickets, t); len(x.tickets) > 100 {
		x.tickets = slices.Delete(x.tickets, 0, 50)
	}
}

// acquireNode takes a node, as a repetition of a call that had its answer,
// or with a ticket that is not lost.
func (x *hostile) acquireNode(ctx context.Context, v server) {
	s := x.s
	r := wire.Request{
		Attempt: x.drawAttempt(), Earlier: x.tries, Free: x.chance.IntN(2) == 0, TTL: s.ttl, Label: "hostile",
	}
	if len(x.tickets) > 0 && x.chance.IntN(2) == 0 {
		r.Lost = x.forgeTicket(x.anyTicket())
	}
	if x.chance.IntN(2) == 0 { // servers guard nodes of other labels
		node := x.chance.Int64N(s.last + 1)
		r.Node, r.Guard = &node, true
	}
	if l, err := x.drawServer(v).Acquire(ctx, namespace, r); err == nil {
		x.keepTicket(l.Ticket)
	}
}

// drawAttempt returns a new one, or an earlier one.
func (x *hostile) drawAttempt() string {
	if len(x.tries) > 0 && x.chance.IntN(3) == 0 {
		return x.tries[x.chance.IntN(len(x.tries))]
	}
	a := x.s.operator.Text()
	if x.tries = append(x.tries, a); len(x.tries) > 20 {
		x.tries = x.tries[10:]
	}
	return a
}

// drawTick is a plausible tick.
func (x *hostile) drawTick() int64 {
	g, now := said(x.anyTicket()).Grant, x.s.schemes[x.s.era].Layout().TickOf(x.s.operator.trueTime())
	return []int64{0, now - 1, now, g.From, g.Until, g.Until + 1, now * 2, -1}[x.chance.IntN(8)]
}

// forgeTicket changes some fields to those of others. A ticket's claims are
// no secret.
func (x *hostile) forgeTicket(t wire.Ticket) wire.Ticket {
	mine, mac := fields(t)
	other, otherMAC := fields(x.anyTicket())
	for range x.chance.IntN(3) {
		switch x.chance.IntN(11) {
		case 0:
			mine[3] = x.drawTick() // from
		case 1:
			mine[4] = x.drawTick() // until
		case 2:
			mine[0] = x.chance.Int64N(x.s.last + 1) // node
		case 3:
			mine[1] = int64(1) << x.chance.IntN(4) // nodes
		case 4:
			mine[5] = []int64{int64(x.s.ttl) * 10, int64(10 * time.Millisecond)}[x.chance.IntN(2)] // ttl
		case 5:
			mine[6], mine[12] = other[6], other[12] // revision and nonce
		case 6:
			mine[7] = other[7] // generation
		case 7:
			mine[11] = other[11] // holder
		case 8:
			mac = otherMAC
		case 9:
			mine[10] = other[10] // lessor
		case 10:
			t = slices.Clone(t)
			t[x.chance.IntN(len(t))] ^= byte(1 << x.chance.IntN(8))
			return t
		}
	}
	out := wire.Ticket{t[0]}
	for _, f := range mine {
		switch f := f.(type) {
		case int64:
			out = binary.AppendVarint(out, f)
		case string:
			out = append(binary.AppendUvarint(out, uint64(len(f))), f...)
		}
	}
	return append(out, mac...)
}

// fields reads a ticket: eight numbers and five texts, as the comment of
// ticket in package lease has them, and the MAC.
func fields(t wire.Ticket) (out [13]any, mac []byte) {
	rest := t[1:]
	for i := range out {
		if i < 8 {
			n, size := binary.Varint(rest)
			out[i], rest = n, rest[size:]
			continue
		}
		n, size := binary.Uvarint(rest)
		out[i], rest = string(rest[size:size+int(n)]), rest[size+int(n):]
	}
	return out, rest
}
