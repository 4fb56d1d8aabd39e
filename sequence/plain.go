package sequence

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/snowfence/snowfence/lease/store"
)

// plain is the record of a plain sequence: its definition, which counts.
type plain struct{ source }

func newPlain(ctx context.Context, st store.Store, name string, o *Options) *plain {
	p := &plain{source{facts: newFacts(ctx, name, o), store: st, least: new(highest), seen: new(highest)}}
	p.kind, p.untold = p, new(atomic.Pointer[string])
	return p
}

// open reads a sequence, and returns a function that ends the use of the
// store.
func (p *plain) open(ctx context.Context) (unpin func(), err error) {
	if unpin, err = p.store.Pin(ctx); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", p.name, err)
	}
	if err = p.rereadUsable(ctx); err != nil {
		unpin()
		return nil, err
	}
	return unpin, nil
}

func (p *plain) reread(ctx context.Context) (state, error) { return p.readDefinition(ctx) }

func (p *plain) confirmTake(_ context.Context, taken store.Record, _ store.Reply) (store.Record, error) {
	return taken, nil
}

func (p *plain) adopt(_ context.Context, now state) error {
	p.learnState(now)
	return nil
}

// dropAhead drops nothing: each take of the sequence was checked.
func (p *plain) dropAhead() {}

func (p *plain) tookSince(int64) int64 { return p.lastTaken }

func (p *plain) lower(r *store.Record, known state) {
	known.Reached = max(known.Reached, r.From)
	r.Data = known.data()
	r.Generation++ // so that who skips numbers knows of it
}
