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

// minTTL is the shortest TTL. A number is held for settleTime before its first
// ID, and its key must not expire meanwhile.
const minTTL = 3 * time.Second

// Options says which numbers a Registrar may take. All fields but Shared and
// Logger are required.
type Options struct {
	// Min and Max are the first and the last number. Programs of the original
	// must use others unless Shared is set.
	Min, Max int64

	// TTL is how long a number stays taken after its program died, and how long
	// IDs are made while Redis does not answer. It is at least 3 s.
	TTL time.Duration

	// Shared allows a range in which programs of the original take numbers,
	// too. Some of these are not noticed; see the package comment.
	Shared bool

	// Logger logs the loss of numbers. Nil means slog.Default().
	Logger *slog.Logger
}

// Registrar takes numbers and keeps them. It is safe for concurrent use.
type Registrar struct {
	o      Options
	server server
	settle time.Duration

	mu      sync.Mutex
	workers map[*Worker]bool    // all that are taken, also those that settle
	fences  map[*Fence]bool     // those that take another number
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
		return nil, fmt.Errorf("workerid: the range is %d to %d: Min is 0 or more, and Max is not below it",
			o.Min, o.Max)
	case o.TTL == 0:
		return nil, fmt.Errorf("workerid: the TTL is not set (LifeTimeSeconds of a RegisterConf): set it to 15 s, or "+
			"to %v at least", minTTL)
	case o.TTL < minTTL:
		return nil, fmt.Errorf("workerid: the TTL is %v: it must be at least %v", o.TTL, minTTL)
	}
	r := &Registrar{
		o: *o, server: s, settle: settleTime,
		workers: map[*Worker]bool{}, fences: map[*Fence]bool{}, lost: map[int64]time.Time{},
	}
	r.o.Logger = cmp.Or(o.Logger, slog.Default())
	return r, nil
}

// RegisterOne takes a number. That takes two seconds, or longer if none is
// free. Close the Worker to give the number back.
func (r *Registrar) RegisterOne(ctx context.Context) (*Worker, error) {
	ws, err := r.register(ctx, 1)
	if err != nil {
		return nil, err
	}
	return ws[0], nil
}

// RegisterMany takes several numbers. With an error it also returns those that
// it got.
func (r *Registrar) RegisterMany(ctx context.Context, count int) ([]*Worker, error) {
	if count < 1 {
		return nil, fmt.Errorf("workerid: %d numbers are asked for: ask for at least 1", count)
	}
	return r.register(ctx, count)
}

// Fence takes a number and returns a fence over it, which takes another number
// when that one is lost.
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
func (r *Registrar) Validate(number int64) bool {
	for _, w := range r.all() {
		if w.number == number && w.usable() {
			return true
		}
	}
	return false
}

// UnRegister closes all numbers and their fences, as [Worker.Close] does.
func (r *Registrar) UnRegister() error {
	r.mu.Lock()
	fences := slices.Collect(maps.Keys(r.fences))
	r.mu.Unlock()
	for _, f := range fences {
		_ = f.Close() // it has no number yet
	}
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

func (r *Registrar) add(w *Worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workers[w] = true
}

func (r *Registrar) remove(w *Worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workers, w)
}

// lose notes a number that is lost.
func (r *Registrar) lose(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost[number] = time.Now()
}

// shunned reports whether a number was lost within a TTL: it is left to the
// program that took it.
func (r *Registrar) shunned(number int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.lost[number]
	if ok && time.Since(at) > r.o.TTL {
		delete(r.lost, number)
		ok = false
	}
	return ok
}

func (r *Registrar) searching(f *Fence, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if yes {
		r.fences[f] = true
	} else {
		delete(r.fences, f)
	}
}
