package clib

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/sequence"
)

// numbers is what a handle of a sequence stands for.
type numbers struct {
	seq   *sequence.Sequence
	store *open.Store
}

// OpenSequence opens a sequence of a store.
func (l *Library) OpenSequence(store, name string) (Handle, error) {
	slot, err := l.slot()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	st, err := openStore(ctx, store)
	if err != nil {
		l.giveBack(slot)
		return 0, err
	}
	seq, err := sequence.Open(ctx, st.Leases, name, nil)
	if err != nil {
		l.giveBack(slot)
		return 0, hide(st, errors.Join(err, st.Close()))
	}
	return l.enter(slot, &entry{seq: &numbers{seq, st}}), nil
}

// NextNumber returns a number of a sequence. It waits for the store as long as generators do.
func (l *Library) NextNumber(h Handle) (int64, error) {
	e, err := l.find(h, true)
	if err != nil {
		return 0, err
	}
	if n, err := e.seq.seq.TryNext(); err == nil {
		return n, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), defaultMaxWait)
	defer cancel()
	n, err := e.seq.seq.Next(ctx)
	return n, hide(e.seq.store, err)
}

// CloseSequence ends the use of a sequence; a dense one gives back the numbers that nobody got.
func (l *Library) CloseSequence(h Handle) error {
	e, err := l.leave(h, true)
	if err != nil {
		return err
	}
	defer l.drop(e)
	return hide(e.seq.store, errors.Join(e.seq.seq.Close(), e.seq.store.Close()))
}

// openWait bounds an open call, beside what the option wait adds.
const openWait = 30 * time.Second
