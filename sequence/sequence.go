package sequence

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Options says how a program takes numbers. With nil or the zero value it
// takes ranges ahead.
type Options struct {
	// Exact takes only the numbers that callers ask for, and none ahead, as
	// a strict sequence always does. It is for programs that take few
	// numbers and end.
	Exact bool

	// AnyPeriod lets a dated sequence begin periods that are more than a
	// year away.
	AnyPeriod bool

	// Logger logs trouble with the store. Nil logs warnings and errors to
	// slog.Default.
	Logger *slog.Logger
}

// Sequence gives out the numbers of a sequence in one program. It is safe
// for concurrent use.
type Sequence struct {
	cur atomic.Pointer[piece] // of which numbers are taken; never nil
	source

	mode  Mode
	exact bool            // nothing is taken ahead
	step  int64           // from each number to the next
	life  context.Context // of calls to the store
	end   context.CancelFunc
	unpin func()

	// ask takes numbers in place of the source: of several stores, or of a
	// program that keeps them.
	ask    func(ctx context.Context, n int64) (r Range, left int64, err error)
	stores *several // that ask takes of; nil of a program

	// Guarded by mu.
	next         span          // taken ahead; empty when nothing is
	size         int64         // of the next range
	began        time.Time     // when the first number of the range was taken; zero before any
	queue        []*waiter     // who waits for the next take
	inTake       []*waiter     // where nothing is taken ahead: who waits for the take under way
	eager        bool          // a caller wanted numbers without waiting
	storeCall    chan struct{} // closed when the store is asked no more; nil when it is not asked
	rereadReason error         // why the record is read before the next take; nil when it is not
	trouble      error         // what the store said last, while it fails

	closed     bool
	closing    chan struct{} // closed when Close begins
	closeDone  chan struct{} // closed when Close has ended
	closeError error         // what Close returns
}

// waiter is a call that waits for ordinals.
type waiter struct {
	n    int64
	row  bool // it needs all n, one after the other; else fewer will do
	got  span
	err  error
	done chan struct{} // closed when got or err is there
}

// Open opens a plain sequence; for a dated one use [OpenDated]. It returns
// [ErrNoSequence] if there is none of that name, and [ErrRolledBack] if the
// store may have lost numbers.
func Open(ctx context.Context, st store.Store, name string, o *Options) (*Sequence, error) {
	s := newSequence()
	s.useStore(ctx, st, name, o)
	unpin, err := s.openRecord(ctx)
	if err != nil {
		return nil, err
	}
	if s.lastState.Pattern != "" {
		unpin()
		return nil, fmt.Errorf("sequence %q: %w: it is dated: use OpenDated", name, ErrDated)
	}
	s.startTakes(world.With(context.Background(), s.world), o != nil && o.Exact || s.lastState.Mode == Strict, unpin)
	return s, nil
}

// openRecord reads a sequence, and returns a function that ends the use of
// the store.
func (s *source) openRecord(ctx context.Context) (unpin func(), err error) {
	if unpin, err = s.store.Pin(ctx); err != nil {
		return nil, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	if err = s.rereadUsable(ctx); err != nil {
		unpin()
		return nil, err
	}
	return unpin, nil
}

// useStore says where the record is.
func (s *source) useStore(ctx context.Context, st store.Store, name string, o *Options) {
	s.name, s.store, s.world, s.log = name, st, world.From(ctx), store.Warnings(slog.Default())
	if o != nil && o.Logger != nil {
		s.log = o.Logger
	}
}

func newSequence() *Sequence {
	return &Sequence{closing: make(chan struct{}), closeDone: make(chan struct{})}
}

// startTakes makes a sequence with a known definition ready.
func (s *Sequence) startTakes(life context.Context, exact bool, unpin func()) {
	s.exact, s.unpin, s.mode, s.step = exact, unpin, s.lastState.Mode, s.lastState.course.step
	s.life, s.end = context.WithCancel(life)
	s.cur.Store(span{}.piece(s.step))
}

// Next returns a number. It waits for the store as long as ctx lasts, but
// returns errors that waiting cannot end at once: [ErrEnded],
// [ErrRolledBack], [ErrNoSequence], [ErrClosed].
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	p := s.cur.Load()
	before, step, count := p.before, p.step, p.count // loads before the add need not wait for it
	if i := p.next.Add(1); i <= count {
		return before + int64(i)*step, nil
	}
	return s.nextSlow(ctx)
}

func (s *Sequence) nextSlow(ctx context.Context) (int64, error) {
	return s.oneNumber(s.waitFor(ctx, 1, true))
}

// TryNext returns a number without waiting. If none is ready, it returns
// [ErrNotReady], and asks the store for numbers for the next call. A strict
// sequence never has a number ready.
func (s *Sequence) TryNext() (int64, error) {
	p := s.cur.Load()
	before, step, count := p.before, p.step, p.count
	if i := p.next.Add(1); i <= count {
		return before + int64(i)*step, nil
	}
	return s.oneNumber(s.takeReady(1))
}

func (s *Sequence) oneNumber(got span, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return got.firstNumber(s.step), nil
}
