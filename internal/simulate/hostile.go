package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// server leases nodes of the store by tickets, as a server does that is on the way to it. Its clock
// is the true one. What a reply says may be lost on the way back.
type server struct {
	st   store.Store
	p    *process
	s    *snowfence.Scheme
	h    *holding // of the client; nil for a hostile one
	lose func() bool
}

func (v server) options() *lease.Options {
	return &lease.Options{
		MaxSkew: v.p.s.skew,
		Time:    func() (time.Time, time.Duration) { return v.p.trueTime(), v.p.now() },
	}
}

func (v server) answer(t lease.Ticket, err error) (lease.Leased, error) {
	if err == nil && v.lose() {
		err = errUnanswered
	}
	if err != nil {
		return lease.Leased{}, err
	}
	return lease.Leased{
		Ticket: t.Bytes(), Now: v.p.trueTime(),
		Grant: snowfence.Grant{Node: t.Node, From: t.From, Until: t.Until, Nodes: int64(t.Nodes)},
	}, nil
}

// Acquire implements lease.Server.
func (v server) Acquire(
	ctx context.Context, name string, r lease.Request, o *lease.Options,
) (lease.Leased, error) {
	own := v.options()
	own.TTL, own.Node, own.Guard, own.Nodes, own.Label = o.TTL, o.Node, o.Guard, o.Nodes, o.Label
	return v.answer(lease.Acquire(ctx, v.st, name, v.s, &r, own))
}

// Renew implements lease.Server.
func (v server) Renew(
	ctx context.Context, ticket []byte, attempt string, earlier []string,
) (lease.Leased, error) {
	t, err := lease.ParseTicket(ticket)
	if err != nil {
		return lease.Leased{}, err
	}
	next, err := t.Renew(ctx, v.st, v.s, attempt, earlier, v.options())
	if errors.Is(err, store.ErrLost) { // the client knows it from here on
		for n := t.Node; n < t.Node+int64(t.Nodes); n++ {
			v.p.s.lost(v.h, n, v.h.acked[n])
		}
	}
	return v.answer(next, err)
}

// Release implements lease.Server.
func (v server) Release(ctx context.Context, ticket []byte, used int64) error {
	t, err := lease.ParseTicket(ticket)
	if err == nil {
		err = t.Release(ctx, v.st, v.s, used, v.options())
	}
	if err == nil && v.lose() {
		err = errUnanswered
	}
	return err
}

// hostile is a client of a server, which lies in every field of its tickets and requests. Its
// network never fails. Some of the others go through a server, too.
type hostile struct {
	s       *sim
	chance  *rand.Rand
	tickets []lease.Ticket // all that it ever had, and some that it made up
	tries   []string       // its attempts
}

// haunt decides whether the run has a hostile client, and which slots are clients of a server. Its
// choices are its own, so that runs without one are as before.
func (s *sim) haunt() {
	chance := rand.New(rand.NewPCG(s.plan.Seed, 7))
	if chance.IntN(4) > 0 && !s.plan.hostile {
		return
	}
	s.hostile = &hostile{s: s, chance: chance}
	for _, sl := range s.slots {
		sl.served = chance.IntN(2) == 0
	}
}

// trueTime is a server's clock, as a process sees it.
func (p *process) trueTime() time.Time { return start().Add(p.now()) }

// act lets the client do something, and plans the next.
func (x *hostile) act() {
	s := x.s
	if s.calm {
		return
	}
	s.after(time.Duration(x.chance.Int64N(int64(s.ttl))), x.act)
	ctx := world.With(context.Background(), s.operator)
	v := server{direct{s: s}, s.operator, s.schemes[s.era], nil, func() bool { return false }}
	for range 1 + x.chance.IntN(6) {
		if len(x.tickets) == 0 || x.chance.IntN(4) == 0 {
			x.acquire(ctx, v)
			continue
		}
		t := x.lie(x.some())
		if x.chance.IntN(3) == 0 {
			_ = t.Release(ctx, v.st, v.s, x.tick(), v.options())
		} else if next, err := t.Renew(ctx, v.st, v.s, x.attempt(), x.tries, v.options()); err == nil {
			x.keep(next)
		}
	}
}

func (x *hostile) some() lease.Ticket { return x.tickets[x.chance.IntN(len(x.tickets))] }

func (x *hostile) keep(t lease.Ticket) {
	if x.tickets = append(x.tickets, t); len(x.tickets) > 100 {
		x.tickets = slices.Delete(x.tickets, 0, 50)
	}
}

// acquire takes a node, as a repetition of what it did not lose, or with a ticket that it did not.
func (x *hostile) acquire(ctx context.Context, v server) {
	s := x.s
	r := lease.Request{Attempt: x.attempt(), Earlier: x.tries, Free: x.chance.IntN(2) == 0}
	if len(x.tickets) > 0 && x.chance.IntN(2) == 0 {
		t := x.lie(x.some())
		r.Lost = &t
	}
	o := v.options()
	o.TTL, o.Label = s.ttl, "hostile"
	if x.chance.IntN(2) == 0 { // servers guard nodes of other labels
		node := x.chance.Int64N(s.last + 1)
		o.Node, o.Guard = &node, true
	}
	if t, err := lease.Acquire(ctx, v.st, namespace, v.s, &r, o); err == nil {
		x.keep(t)
	}
}

// attempt returns a new one, or one that it used before.
func (x *hostile) attempt() string {
	if len(x.tries) > 0 && x.chance.IntN(3) == 0 {
		return x.tries[x.chance.IntN(len(x.tries))]
	}
	a := x.s.operator.Text()
	if x.tries = append(x.tries, a); len(x.tries) > 20 {
		x.tries = x.tries[10:]
	}
	return a
}

// tick is one that may pass.
func (x *hostile) tick() int64 {
	t, now := x.some(), x.s.schemes[x.s.era].Layout().TickOf(x.s.operator.trueTime())
	return []int64{0, now - 1, now, t.From, t.Until, t.Until + 1, now * 2, -1}[x.chance.IntN(8)]
}

// lie changes some fields to what others have.
func (x *hostile) lie(t lease.Ticket) lease.Ticket {
	for range x.chance.IntN(3) {
		o := x.some()
		switch x.chance.IntN(9) {
		case 0:
			t.From = x.tick()
		case 1:
			t.Until = x.tick()
		case 2:
			t.Node = x.chance.Int64N(x.s.last + 1)
		case 3:
			t.Nodes = 1 << x.chance.IntN(4)
		case 4:
			t.TTL = []time.Duration{x.s.ttl * 10, 10 * time.Millisecond}[x.chance.IntN(2)]
		case 5:
			t.Nonce, t.Revision = o.Nonce, o.Revision
		case 6:
			t.Generation = o.Generation + x.chance.Int64N(2)
		case 7:
			t.Holder = o.Holder
		case 8:
			t.MAC = o.MAC
		}
	}
	return t
}
