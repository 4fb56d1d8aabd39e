package lease

import (
	"context"
	"errors"
	"fmt"
)

// lock waits for the right to talk to the store, and interrupts the keeper if it is doing so.
func (l *Lease) lock(ctx context.Context) error {
	l.mu.Lock()
	if l.stopOp != nil {
		l.stopOp()
	}
	l.mu.Unlock()
	if l.world.Wait(-1, l.ops, ctx.Done()) != 0 {
		return fmt.Errorf("lease: namespace %q: the store is busy with a renewal: %w", l.name, ctx.Err())
	}
	return nil
}

func (l *Lease) unlock() { l.ops <- struct{}{} }

// drop forgets the grant in memory and wakes who waits. mu is held.
func (l *Lease) drop(cause error) {
	l.cur, l.of, l.handed = nil, nil, false
	if cause != nil {
		l.trouble = cause
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// lose is what happens first when the grant is lost: nothing of it is handed out any more, and the generator is sealed.
// It needs ops.
func (l *Lease) lose(cause error) error {
	l.mu.Lock()
	seal := l.seal
	l.drop(cause)
	l.mu.Unlock()
	if seal != nil {
		seal()
	}
	l.hold = nil
	l.opts.Logger.Warn("lease lost", "namespace", l.name, "label", l.opts.Label, "cause", cause)
	return &lostError{cause}
}

// replaced looks whether an error of the store comes from its being another one by now. Then what was granted by the old one protects nobody, and is
// lost at once; otherwise it returns err, and the grant may be used to its end.
func (l *Lease) replaced(ctx context.Context, err error) error {
	if !errors.Is(err, ErrReplaced) {
		if _, why := identity(ctx, l.st, l.name); errors.Is(why, ErrReplaced) {
			err = why
		}
	}
	if errors.Is(err, ErrReplaced) {
		return l.lose(err)
	}
	return err
}

// lostError marks a cause for which the lease has already been sealed.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func lost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}
