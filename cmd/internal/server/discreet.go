package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// Discreet returns a store whose errors can be shown: hide takes passwords out of their texts, and callers of a Service do not hear at all what a driver says of a store that failed,
// which names hosts, users and databases (see Words). It goes below everything else, so that nothing above has to think of it: logs, traces, events, the dashboard, and wires that are
// not written yet. A nil hide takes nothing out.
func Discreet(st lease.Store, hide func(text string) string) lease.Store {
	if hide == nil {
		hide = func(text string) string { return text }
	}
	return &discreet{st, hide}
}

// storeError is an error of a store, with a text for logs. What it wraps is there for errors.Is alone.
type storeError struct {
	err    error
	text   string
	failed bool // the store did, and its words are not for callers
}

func (e *storeError) Error() string { return e.text }
func (e *storeError) Unwrap() error { return e.err }

// Words returns the text of an error for a caller.
func Words(err error) string {
	text := err.Error()
	for _, own := range storeErrors(err, nil) {
		if own.failed {
			text = strings.ReplaceAll(text, own.text, "the store failed, and the server's log says how")
		}
	}
	return text
}

// storeErrors appends those that an error is made of, each once.
func storeErrors(err error, list []*storeError) []*storeError {
	if own, ok := err.(*storeError); ok {
		if !slices.Contains(list, own) {
			list = append(list, own)
		}
		return list
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			list = storeErrors(inner, list)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			list = storeErrors(inner, list)
		}
	}
	return list
}

// discreet changes only the errors of a store.
type discreet struct {
	lease.Store
	hide func(text string) string
}

// error returns what may be seen of an error of the store.
func (d *discreet) error(err error) error {
	if err == nil || err == lease.ErrLost { // alone it says nothing, and it is frequent
		return err
	}
	return &storeError{err, d.hide(err.Error()), KindOf(err) == Unavailable && !errors.Is(err, context.Canceled)}
}

// Get implements [lease.Store].
func (d *discreet) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	rs, err := d.Store.Get(ctx, keys)
	return rs, d.error(err)
}

// List implements [lease.Store].
func (d *discreet) List(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	rs, err := d.Store.List(ctx, q)
	return rs, d.error(err)
}

// Swap implements [lease.Store].
func (d *discreet) Swap(ctx context.Context, writes []lease.Write) []error {
	errs := d.Store.Swap(ctx, writes)
	out := make([]error, len(errs)) // theirs may be kept
	for i, err := range errs {
		out[i] = d.error(err)
	}
	return out
}

// Count implements [lease.Store].
func (d *discreet) Count(ctx context.Context, namespace string, first, last int64) (int64, error) {
	n, err := d.Store.Count(ctx, namespace, first, last)
	return n, d.error(err)
}

// Identity implements [lease.Store].
func (d *discreet) Identity(ctx context.Context, namespace string) (string, error) {
	id, err := d.Store.Identity(ctx, namespace)
	return id, d.error(err)
}

// Now implements [lease.Store].
func (d *discreet) Now(ctx context.Context) (time.Time, error) {
	now, err := d.Store.Now(ctx)
	return now, d.error(err)
}

// Pin implements [lease.Store].
func (d *discreet) Pin(ctx context.Context) (unpin func(), err error) {
	unpin, err = d.Store.Pin(ctx)
	return unpin, d.error(err)
}
