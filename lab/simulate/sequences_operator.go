package simulate

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// manageSequence has the operator change, delete or confirm a sequence,
// over a network that fails as everybody's, and one thing after the other.
func (s *sim) manageSequence(f Fault, chance float64) {
	c := s.counters[int(chance*float64(len(s.counters)))]
	p := s.operator
	if c.changing {
		return
	}
	s.noteFault(f, p, 0)
	c.changing = true
	p.Go(func() {
		ctx, cancel := p.WithTimeout(world.With(context.Background(), p), 4*s.ttl)
		defer cancel()
		st := link{p: p}
		switch f {
		case faultAlter:
			s.changeSequence(ctx, st, c)
		case faultEnd:
			_ = sequence.Delete(ctx, st, c.name)
			p.sleepFor(s.ttl / 2)
			_ = s.createAgain(ctx, st, c)
		case faultAdmit:
			was := s.store.name()
			p.sleepFor(2 * s.ttl) // no reply is later
			if s.store.name() == was {
				_ = s.confirmSequence(ctx, st, c)
			}
		}
		c.changing = false
	})
}

// createAgain creates a sequence that was deleted or is gone.
func (s *sim) createAgain(ctx context.Context, st store.Store, c *counter) error {
	return sequence.Create(ctx, st, c.name, sequence.Definition{
		Mode: c.mode, Start: &c.start, Step: c.step, Pattern: c.definition.Pattern, Zone: c.definition.Zone,
	})
}

// changeSequence changes the changeable parts.
func (s *sim) changeSequence(ctx context.Context, st store.Store, c *counter) {
	own := s.operator.programRand
	var ch sequence.Changes
	switch own.IntN(3) {
	case 0:
		ch.MinRange = 1 + own.Int64N(10)
		ch.MaxRange = ch.MinRange * (1 + own.Int64N(30))
	case 1:
		last := c.numberOf(c.highestEnd() + own.Int64N(200))
		ch.Max = &last
	default:
		if after := c.definition.AfterFailover; after > 0 { // to skip numbers instead of a confirmation is no way
			after += own.Int64N(manyNumbers)
			ch.AfterFailover = &after
		}
	}
	_ = sequence.Update(ctx, st, c.name, ch)
	if ch.Max != nil {
		s.operator.sleepFor(s.ttl)
		_ = s.widenSequence(ctx, st, c)
	}
}

// widenSequence lets a sequence go on as far as it can be of use.
func (s *sim) widenSequence(ctx context.Context, st store.Store, c *counter) error {
	last := c.numberOf(1 << 50)
	return sequence.Update(ctx, st, c.name, sequence.Changes{Max: &last})
}

// confirmSequence confirms a sequence that was rolled back, with a true
// floor: the numbers of programs lie below it, after the takes that were
// under way have ended.
func (s *sim) confirmSequence(ctx context.Context, st store.Store, c *counter) error {
	info, err := sequence.Show(ctx, st, c.name)
	if errors.Is(err, sequence.ErrNoSequence) {
		return s.createAgain(ctx, st, c)
	}
	if err != nil {
		return err
	}
	floor := c.numberOf(c.programEnd)
	if len(c.silent) > 0 { // a store that goes on under its name answers what was under way
		floor = c.numberOf(c.highestEnd() + manyNumbers)
	} else if !info.RolledBack {
		return nil
	}
	s.traceLine("the operator confirms %s from %d on", c.name, floor)
	return sequence.Confirm(ctx, st, c.name, sequence.Confirmation{Floor: &floor})
}

// mendSequences is an operator's work when everything is over.
func (s *sim) mendSequences() {
	ctx := world.With(context.Background(), s.operator)
	for _, c := range s.counters {
		st := s.directLink()
		for range 2 {
			err := errors.Join(s.createAgain(ctx, st, c), s.widenSequence(ctx, st, c), s.confirmSequence(ctx, st, c))
			if err != nil {
				s.violate("the operator cannot mend %s: %v", c.name, err)
			}
		}
	}
}
