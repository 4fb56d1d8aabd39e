package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// overStores makes the run one of a sequence over several stores. To the ledger, the part of each
// store is a sequence of its own, whose numbers no other part has.
func (s *sim) overStores(chance *rand.Rand) {
	made := newCounter(chance, s.store, "strides").made
	made.Pattern, made.Zone = "", ""
	made.Mode = []sequence.Mode{sequence.Fast, sequence.Dense}[chance.IntN(2)]
	s.counters = nil
	for range 2 + chance.IntN(2) {
		st := newStore(false)
		st.adds = chance.IntN(3) > 0
		c := newCounter(chance, st, "strides")
		c.made, c.mode, c.dated = made, made.Mode, false
		s.counters = append(s.counters, c)
	}
	s.rates[faultEnd], s.rates[faultVanished] = 0, 0 // a part that is gone does not come back
}

// createAll makes the sequences, before anything goes wrong.
func (s *sim) createAll(_ context.Context) error {
	step := int64(len(s.counters)) + s.chance.Int64N(3) // of those over several stores
	return s.calmly(func(ctx context.Context, _ store.Store) error {
		for i, c := range s.counters {
			d := c.made
			if s.strides {
				if d.Start == nil {
					d.Start = new(int64(1))
				}
				if d.Step == 0 {
					d.Step = 1
				}
				c.start, c.step = *d.Start+int64(i)*d.Step, d.Step*step
				d.Start, d.Step = &c.start, c.step
				c.made = d
			}
			if err := sequence.Create(ctx, direct{st: c.st, s: s}, c.name, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// stride opens a sequence over the stores, takes numbers of it, and closes it.
func (p *process) stride(ctx context.Context) {
	s := p.s
	var takers []*taker
	var stores []store.Store
	for _, c := range s.counters {
		t := p.taker(c)
		takers, stores = append(takers, t), append(stores, t)
	}
	octx, cancel := p.WithTimeout(ctx, 2*s.ttl)
	a, err := sequence.OpenAny(octx, stores, "strides", nil)
	cancel()
	if err == nil {
		p.strides(ctx, a, takers)
		if p.own.IntN(4) > 0 {
			_ = a.Close()
			if _, err := a.TryNext(); !errors.Is(err, sequence.ErrClosed) {
				s.violate("%s: a closed sequence says %v", p.name, err)
			}
		}
	}
	p.sleep(time.Duration(p.own.Int64N(int64(s.ttl))))
}

// strides takes numbers for some rounds.
func (p *process) strides(ctx context.Context, a *sequence.Any, takers []*taker) {
	s := p.s
	for range 1 + p.own.IntN(14) {
		wctx, cancel := p.WithTimeout(ctx, time.Duration(p.own.Int64N(int64(2*s.ttl))))
		n := 1 + p.own.IntN(1<<p.own.IntN(6))
		began := p.now()
		switch p.own.IntN(3) {
		case 0:
			for range n {
				if number, err := a.Next(wctx); err == nil {
					s.strode(takers, began, number)
				}
			}
		case 1:
			for range n {
				if number, err := a.TryNext(); err == nil {
					s.strode(takers, began, number)
				}
			}
		default:
			numbers := make([]int64, n)
			k, _ := a.Fill(wctx, numbers)
			s.strode(takers, began, numbers[:k]...)
		}
		cancel()
		p.sleep(time.Duration(1 + p.own.Int64N(int64(1+p.own.Int64N(int64(s.ttl))))))
	}
}

// strode checks numbers, each by the store that it is of.
func (s *sim) strode(takers []*taker, began time.Duration, numbers ...int64) {
	for _, n := range numbers {
		found := false
		for _, t := range takers {
			if at := n - t.c.start; at%t.c.step == 0 && at/t.c.step >= 0 {
				s.gave(t, order{}, asked{began: began, own: order{}}, plain, []int64{n})
				found = true
			}
		}
		if !found {
			s.violate("a program got %d, which is of no store", n)
		}
	}
}
