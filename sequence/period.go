package sequence

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// period is the record of one period of a dated sequence. The definition is
// another record, which all periods share.
type period struct {
	source
	of      *Dated
	at      int64
	numbers *Sequence // that takes of it
}

func (d *Dated) newPeriod(at int64) *period {
	p := &period{of: d, at: at, source: source{facts: &facts{
		name: d.name, world: d.world, log: d.log.With("period", at), lastState: d.lastState,
	}, store: d.store, least: d.least, seen: d.seen, untold: d.untold}}
	p.kind = p
	p.lastState.counter = store.Record{}
	return p
}

// reread reads the record of the period first: then the definition is never
// the older one. Both have to be of one store: else the present store would
// look as if it had lost a take of the earlier one.
func (p *period) reread(ctx context.Context) (state, error) {
	counter, told, err := readPeriod(ctx, p.store, p.name, p.at)
	if err != nil {
		return state{}, err
	}
	now, err := p.readDefinition(ctx)
	if same, _ := store.Compare(now.told.Identity, told.Identity); !same {
		return state{}, cmp.Or(err, fmt.Errorf("sequence %q: period %d is of the store %q, and its definition of %q: "+
			"if this is said again, connect to one server", p.name, p.at, told.Identity, now.told.Identity))
	}
	now.counter = counter
	return now, cmp.Or(err, p.admit(now))
}

// admit refuses a period that is closed.
func (p *period) admit(now state) error {
	if p.at >= now.Open {
		return nil
	}
	return fmt.Errorf("sequence %q: %w: period %d was closed when the sequence was confirmed: take a later one",
		p.name, ErrPeriod, p.at)
}

// confirmTake reads the definition, because a confirmation writes it alone.
func (p *period) confirmTake(ctx context.Context, _ store.Record, took store.Reply) (store.Record, error) {
	known := p.lastState.record
	rs, told, err := p.store.Get(ctx, []store.Key{keyOf(p.name)})
	if err != nil {
		return known, fmt.Errorf("sequence %q: reading it after a take: %w", p.name, err)
	}
	if rs[0].Nonce != known.Nonce || known.Generation < p.seen.Load() {
		return known, store.ErrLost
	}
	if err := told.Follows(took); err != nil {
		return known, fmt.Errorf("sequence %q: %w", p.name, err)
	}
	return known, nil
}

// adopt makes the record of the period one of this definition: it has its
// generation, which is 0 where there is no record, and counts from the
// floor on.
func (p *period) adopt(ctx context.Context, now state) error {
	if r := now.counter; r.Generation != now.record.Generation {
		old := r.Nonce
		if err := p.checkNew(old, now.told); err != nil {
			return err
		}
		r.Nonce, r.Generation = p.world.Text(), now.record.Generation
		r.From = max(r.From, now.lowestOrdinal())
		r.Revision++
		r.At = p.world.Now().UnixMilli()
		told, err := store.Put(ctx, p.store, store.Write{Old: old, New: r})
		if err != nil {
			return fmt.Errorf("sequence %q: writing period %d: %w", p.name, p.at, err)
		}
		if err := p.checkNew(old, told); err != nil { // in a transaction only writes tell the time
			return err
		}
		now.counter = r
	}
	p.learnState(now)
	p.of.learnOf(now)
	return nil
}

// checkNew refuses a new period more than a year away from this clock or
// the store's: each has a record that stays.
func (p *period) checkNew(old string, told store.Reply) error {
	if old != "" || p.of.anyPeriod {
		return nil
	}
	for _, t := range []time.Time{p.world.Now(), told.Now} {
		c := p.of.calendar
		if !t.IsZero() && (p.at < c.periodAt(t.AddDate(-1, 0, 0)) || p.at > c.periodAt(t.AddDate(1, 0, 0))) {
			return fmt.Errorf("sequence %q: %w: period %d has no number yet, and is more than a year away from %s: "+
				"set the clock right, or allow it (Options.AnyPeriod, --any-period)", p.name, ErrPeriod, p.at,
				t.In(c.zone).Format(time.DateOnly))
		}
	}
	return nil
}

// learnOf keeps a period's reading of the definition, unless another period
// read more.
func (d *Dated) learnOf(now state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now.counter = now.record
	if now.record.Generation > d.lastState.record.Generation {
		d.lastState = now
	}
}

// dropAhead drops the rests of all periods: they may come from the store
// that was rolled back.
func (p *period) dropAhead() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	for _, other := range p.of.periods {
		other.numbers.dropAhead()
	}
}

func (p *period) tookSince(open int64) (own int64) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	for at, other := range p.of.periods {
		if at >= open {
			other.mu.Lock()
			own = max(own, other.lastTaken)
			other.mu.Unlock()
		}
	}
	return own
}

func (p *period) lower(r *store.Record, _ state) { r.Until = max(r.Until, r.From) }
