package workerid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
)

// minTTL is the shortest TTL. A number is held for settleTime before its
// first ID, and its key must not expire meanwhile.
const minTTL = 3 * time.Second

// Options says which numbers a Registrar may take. All fields but Shared
// and Logger are required.
type Options struct {
	// Min and Max are the first and the last number. Programs of the
	// original must use others unless Shared is set.
	Min, Max int64

	// TTL is how long a number stays taken after its program died, and how
	// long IDs are made while Redis does not answer. It is at least 3 s.
	TTL time.Duration

	// Shared allows a range in which programs of the original take numbers,
	// too. Some of these are not noticed; see the package comment.
	Shared bool

	// Logger logs the loss of numbers. Nil means slog.Default().
	Logger *slog.Logger
}

// Registrar takes numbers and keeps them until UnRegister. It is safe for
// concurrent use.
type Registrar struct {
	o      Options
	server server
	life   context.Context // ends with UnRegister
	end    context.CancelFunc

	mu      sync.Mutex
	workers map[*Worker]bool    // all that are taken, also those that settle
	lost    map[int64]time.Time // numbers, and when; they are not taken again for a TTL
}

// New returns a registrar on a client. It does no I/O.
func New(c rueidis.Client, o *Options) (*Registrar, error) {
	if c == nil {
		return nil, errors.New("workerid: the rueidis.Client is nil")
	}
	return newRegistrar(redis{c}, o)
}

func newRegistrar(s server, o *Options) (*Registrar, error) {
	switch {
	case o == nil:
		return nil, errors.New("workerid: the Options are nil: set Min, Max and TTL")
	case o.Min < 0 || o.Min > o.Max:
		return nil, fmt.Errorf("workerid: the range is %d to %d: Min must be 0 or more, and Max at least Min",
			o.Min, o.Max)
	case o.TTL < minTTL:
		return nil, fmt.Errorf("workerid: the TTL (LifeTimeSeconds of a RegisterConf) is %v: set it to 15 s, or to %v "+
			"at least", o.TTL, minTTL)
	}
	r := &Registrar{o: *o, server: s, workers: map[*Worker]bool{}, lost: map[int64]time.Time{}}
	r.o.Logger = cmp.Or(o.Logger, slog.Default())
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// RegisterOne takes a number. That takes two seconds, or longer if none is
// free. Close the Worker to give the number back.
func (r *Registrar) RegisterOne(ctx context.Context) (*Worker, error) {
	ws, err := r.RegisterMany(ctx, 1)
	if err != nil {
		return nil, err
	}
	return ws[0], nil
}

// Fence takes a number and returns a fence over it, which takes another
// number when that one is lost.
func (r *Registrar) Fence(ctx context.Context, s *snowfence.Scheme) (*Fence, error) {
	if err := r.fits(s); err != nil {
		return nil, err
	}
	w, err := r.RegisterOne(ctx)
	if err != nil {
		return nil, err
	}
	return w.Fence(s)
}

// Validate reports whether a number is held.
func (r *Registrar) Validate(number int64) bool { return r.held(number) != nil }

// held returns a number that is held, or nil.
func (r *Registrar) held(number int64) *Worker {
	for _, w := range r.all() {
		if w.number == number && w.usable() {
			return w
		}
	}
	return nil
}

// UnRegister closes all numbers and their fences, as [Worker.Close] does,
// and ends the Registrar.
func (r *Registrar) UnRegister() error {
	r.end()
	var all sync.WaitGroup
	ws := r.all()
	errs := make([]error, len(ws))
	for i, w := range ws {
		all.Go(func() { errs[i] = w.Close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (r *Registrar) all() []*Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.workers))
}
