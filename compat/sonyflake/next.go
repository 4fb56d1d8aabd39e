package sonyflake

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

// NextID returns a new ID. It waits for the next time unit when this one is
// full. Over a fence it waits up to a second for a grant, and then returns
// a [snowfence.WaitError] that says why there is none. After the lifetime
// it returns [ErrOverTimeLimit], and after Close [snowfence.ErrClosed].
func (sf *Sonyflake) NextID() (int64, error) {
	if sf.ids == nil {
		return 0, sf.without()
	}
	id, err := sf.ids.NextSoon(context.Background())
	if err != nil {
		return sf.nextLater(err)
	}
	return int64(id), nil
}

// NextIDContext is NextID, but waits until ctx ends, also for a grant.
func (sf *Sonyflake) NextIDContext(ctx context.Context) (int64, error) {
	if sf.ids == nil {
		return 0, sf.without()
	}
	id, err := sf.ids.Next(ctx)
	return int64(id), original(err)
}

// without returns why there is no generator.
func (sf *Sonyflake) without() error {
	if sf.timeUnit == 0 {
		return errZero
	}
	return ErrOverTimeLimit
}

var errZero = fmt.Errorf("sonyflake: a Sonyflake without settings: make it with New or NewOn (%w)", snowfence.ErrClosed)

// nextLater waits on while err means that the time unit is full.
func (sf *Sonyflake) nextLater(err error) (int64, error) {
	for sf.full(err) {
		var id snowfence.ID
		if id, err = sf.ids.NextSoon(context.Background()); err == nil {
			return int64(id), nil
		}
	}
	return 0, original(err)
}

// full reports whether the error goes away with the next time unit. After a
// step back the clock runs at half speed, so that takes two units at most.
// Then other callers may use up that unit, too.
func (sf *Sonyflake) full(err error) bool {
	var w *snowfence.WaitError
	return errors.As(err, &w) && w.Reason == snowfence.ErrExhausted && int64(w.Missing)/2 <= sf.timeUnit
}

// original returns the error that the original has in its place.
func original(err error) error {
	if errors.Is(err, snowfence.ErrLifetime) {
		return ErrOverTimeLimit
	}
	return err
}
