package server

import (
	"context"
	"sync"
	"time"
)

// call is a context for a call that may have to wait for numbers. It ends
// when the store took too long, and sooner while it fails. Most calls find
// numbers at hand, and it costs them nothing.
type call struct {
	context.Context // of the caller
	sq              *Sequence

	mu     sync.Mutex
	waits  context.Context // nil until a call waits
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

const (
	// failingWait is how long a call waits while the store answers with
	// errors.
	failingWait = time.Second

	failingLook = 100 * time.Millisecond
)

var errFailing = Errorf(Unavailable, "no number came, because the store fails: ask again in a moment")

// Done implements [context.Context].
func (p *call) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits == nil {
		ctx, stop := context.WithTimeoutCause(p.Context, storeTimeout, errStoreTimeout)
		p.waits, p.cancel = context.WithCancelCause(ctx)
		context.AfterFunc(p.waits, stop)
		p.timer = time.AfterFunc(failingWait, p.endOnOutage)
	}
	return p.waits.Done()
}

// Err implements [context.Context]. It says which wait was over.
func (p *call) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits == nil {
		return p.Context.Err()
	}
	return context.Cause(p.waits)
}

// endOnOutage ends the wait if the store fails.
func (p *call) endOnOutage() {
	failing := p.sq.numbers.Status().Trouble != nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if failing {
		p.cancel(errFailing)
	}
	if p.waits.Err() == nil {
		p.timer.Reset(failingLook)
	}
}

func (p *call) endWait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits != nil {
		p.cancel(nil)
		p.timer.Stop()
	}
}
