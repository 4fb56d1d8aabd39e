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
	cur    atomic.Pointer[piece] // of which numbers are taken; never nil
	*facts                       // of from
	from   supply

	step        int64         // from each number to the next
	dense       bool          // unused numbers go back
	short, long time.Duration // between them, a range lasts as long as it should
	single      bool          // a range of one number is not taken ahead

	life    context.Context // of calls to the supply
	end     context.CancelFunc
	release func(ctx context.Context) // ends the use of the supply

	// Guarded by mu.
	exact        bool          // nothing is taken ahead
	retired      bool          // what was taken ahead has to go back
	next         span          // taken ahead; empty when nothing is
	size         int64         // of the next range
	began        time.Time     // when the first number of the range was taken; zero before any
	queue        []*waiter     // who waits for the next take
	inTake       []*waiter     // where nothing is taken ahead: who waits for the take under way
	eager        bool          // a caller wanted numbers without waiting
	takes        chan struct{} // closed when the supply is asked no more; nil when it is not asked
	rereadReason error         // why the record is read before the next take; nil when it is not
	trouble      error         // what the supply said last, while it fails

	closed     bool
	closing    chan struct{} // closed when Close begins
	closeDone  chan struct{} // closed when Close has ended
	closeError error         // what Close returns
}

// Open opens a plain sequence; for a dated one use [OpenDated]. It returns
// [ErrNoSequence] if there is none of that name, and [ErrRolledBack] if the
// store may have lost numbers.
func Open(ctx context.Context, st store.Store, name string, o *Options) (*Sequence, error) {
	p := newPlain(ctx, st, name, o)
	unpin, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	if p.lastState.Pattern != "" {
		unpin()
		return nil, fmt.Errorf("sequence %q: %w: it is dated: use OpenDated", name, ErrDated)
	}
	s := newSequence(p.facts, p)
	s.start(o != nil && o.Exact || p.lastState.Mode == Strict, func(context.Context) { unpin() })
	return s, nil
}

func newSequence(f *facts, from supply) *Sequence {
	s := &Sequence{facts: f, from: from, closing: make(chan struct{}), closeDone: make(chan struct{})}
	s.life, s.end = context.WithCancel(world.With(context.Background(), f.world))
	s.cur.Store(span{}.piece(0))
	return s
}

// start makes a sequence with a known definition ready.
func (s *Sequence) start(exact bool, release func(ctx context.Context)) {
	s.exact, s.release, s.step = exact, release, s.lastState.course.step
	s.short, s.long = 15*time.Minute, 30*time.Minute
	if s.dense = s.lastState.Mode == Dense; s.dense {
		s.short, s.long = time.Minute, 2*time.Minute
	}
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
