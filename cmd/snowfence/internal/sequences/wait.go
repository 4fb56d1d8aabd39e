package sequences

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// numberWait limits a command's wait for numbers. It is the log of the
// sequence, so it can tell people the reason, and end a wait that is in
// vain.
type numberWait struct {
	slog.Handler // for what it does not do itself
	e            *command.Env
	name         string
	life         context.Context // of takes
	end          context.CancelCauseFunc
	stop         func()
}

// afterInterrupt is how long a take goes on after Ctrl-C, so that its
// numbers are not lost.
const afterInterrupt = 5 * time.Second

func newNumberWait(ctx context.Context, e *command.Env, name string) *numberWait {
	w := &numberWait{Handler: slog.DiscardHandler, e: e, name: name}
	w.life, w.end = context.WithCancelCause(context.WithoutCancel(ctx))
	interrupted := context.AfterFunc(ctx, func() {
		time.AfterFunc(afterInterrupt, func() { w.end(context.Canceled) })
	})
	w.stop = func() {
		interrupted()
		w.end(nil)
	}
	return w
}

// during runs a take, and returns why it did not go on.
func (w *numberWait) during(take func(ctx context.Context) error) error {
	late := time.AfterFunc(command.MaxWait, func() {
		w.end(fmt.Errorf("sequence %q: the store gave no number within %v: run this again when it answers", w.name,
			command.MaxWait))
	})
	defer late.Stop()
	err := take(w.life)
	if errors.Is(err, context.Canceled) {
		return context.Cause(w.life)
	}
	return err
}

func (w *numberWait) Enabled(context.Context, slog.Level) bool { return true }

// Handle tells the store's error.
func (w *numberWait) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		switch {
		case !ok, isAnswer(err):
		case w.e.Advice != nil && w.e.Advice(err) != "":
			w.end(err)
		case w.life.Err() == nil:
			w.e.Message("waiting for the store, %v at most: %s", command.MaxWait, command.WithoutPackage(err))
		}
		return !ok
	})
	return nil
}

// isAnswer reports whether an error is the store's answer, for which no
// call waits.
func isAnswer(err error) bool {
	for _, kind := range []error{
		sequence.ErrEnded, sequence.ErrRolledBack, sequence.ErrNoSequence, sequence.ErrPeriod,
		store.ErrReplaced, store.ErrMoved, lease.ErrRefused,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
