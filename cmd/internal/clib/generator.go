package clib

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence"
)

// generator is the object behind a handle of IDs.
type generator struct {
	gen  *snowfence.Generator
	beat *beat
	give func() error // gives back what stands behind the generator
}

// expired is a context that ends every wait at once.
var expired = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// startGenerator makes a generator on a fence, and its handle. The end of
// the generator calls give; so does an error here.
func (l *Library) startGenerator(fence snowfence.Fence, o *options, give func() error) (Handle, error) {
	if err := fence.Scheme().Layout().CheckSpread(o.spread); err != nil {
		return 0, errors.Join(InvalidError("option spread=%d: %w", o.spread, err), give())
	}
	slot, err := l.takeSlot()
	if err != nil {
		return 0, errors.Join(err, give())
	}
	b := &beat{word: &l.words[slot]}
	b.raise() // so that no ring reads 0: a forked child does
	gen, err := snowfence.New(snowfence.Config{
		Fence: &watched{Fence: fence, beat: b}, Lead: o.lead, Spread: o.spread, Coarse: o.coarse, MaxWait: o.maxWait,
	})
	if err != nil {
		l.giveBack(slot)
		return 0, errors.Join(err, give())
	}
	return l.giveHandle(slot, &entry{ids: &generator{gen, b, give}}), nil
}

// Next returns a new ID.
func (l *Library) Next(h Handle) (snowfence.ID, error) {
	e, err := l.findEntry(h, false)
	if err != nil {
		return 0, err
	}
	return e.ids.gen.Next(context.Background())
}

// NextFor returns a new ID with a tag.
func (l *Library) NextFor(h Handle, tag int64) (snowfence.ID, error) {
	e, err := l.findEntry(h, false)
	if err != nil {
		return 0, err
	}
	return e.ids.gen.NextFor(context.Background(), tag)
}

// Tag puts a tag into an ID, with the layout and the secrets of a handle.
func (l *Library) Tag(h Handle, id snowfence.ID, tag int64) (snowfence.ID, error) {
	e, err := l.findEntry(h, false)
	if err != nil {
		return 0, err
	}
	return e.ids.gen.Scheme().Tag(id, tag)
}

// Fill writes new IDs to dst. The first n are good, also after an error.
func (l *Library) Fill(h Handle, dst []snowfence.ID) (n int, err error) {
	e, err := l.findEntry(h, false)
	if err != nil {
		return 0, err
	}
	return e.ids.gen.Fill(context.Background(), dst)
}

// Take writes at least one new ID to dst, and the others that need no
// waiting. They are for a ring, which drops them when the beat rises.
func (l *Library) Take(h Handle, dst []snowfence.ID) (n int, err error) {
	e, err := l.findEntry(h, false)
	if err != nil || len(dst) == 0 {
		return 0, err
	}
	g := e.ids
	g.beat.raiseSoon()
	if n, _ = g.gen.Fill(expired, dst); n > 0 {
		return n, nil
	}
	if dst[0], err = g.gen.Next(context.Background()); err != nil {
		return 0, err
	}
	n, _ = g.gen.Fill(expired, dst[1:])
	return n + 1, nil
}

// Close ends a generator: rings drop their IDs, and its node is given back.
func (l *Library) Close(h Handle) error {
	e, err := l.leaveHandle(h, false)
	if err != nil {
		return err
	}
	defer l.dropEntry(e)
	e.ids.beat.raise() // after the handle was marked: a later reader of the beat gets no ID of it
	return errors.Join(e.ids.gen.Close(), e.ids.give())
}

// Decode takes an ID apart with the layout and the secrets of a handle.
func (l *Library) Decode(h Handle, id snowfence.ID) (snowfence.Parts, error) {
	e, err := l.findEntry(h, false)
	if err != nil {
		return snowfence.Parts{}, err
	}
	return e.ids.gen.Scheme().Decode(id)
}
