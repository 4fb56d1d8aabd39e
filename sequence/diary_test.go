package sequence

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// hands is a world whose clock is set by hand.
type hands struct {
	world.World

	mu   sync.Mutex
	now  time.Time
	hook func() // called by the next Now, where one goroutine does all
	goes sync.WaitGroup
}

func (h *hands) Go(f func()) { h.goes.Go(f) }

func (h *hands) Now() time.Time {
	if h.hook != nil {
		h.hook()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// set sets the clock to a time such as 2026-11-22T23:59:59Z.
func (h *hands) set(t testing.TB, at string) {
	t.Helper()
	now := must(time.Parse(time.RFC3339, at))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = now
}

// clockAt returns a context with a clock at a time.
func clockAt(t testing.TB, at string) (context.Context, *hands) {
	t.Helper()
	h := &hands{World: world.Real()}
	h.set(t, at)
	return world.With(t.Context(), h), h
}

// diary is a dated sequence with a clock.
type diary struct {
	testing.TB
	*hands
	ctx context.Context
	st  *shaky
	s   *Dated
}

// opened returns a dated sequence that is used at a time.
func opened(t testing.TB, at string, d Definition) *diary {
	t.Helper()
	ctx, h := clockAt(t, at)
	st := newShaky()
	noError(t, Create(ctx, st, name, d))
	j := &diary{t, h, ctx, st, nil}
	j.s = j.open(nil)
	return j
}

// open opens it in another program with the same clock.
func (j *diary) open(o *Options) *Dated {
	j.Helper()
	s := must(OpenDated(j.ctx, j.st, name, o))
	j.Cleanup(func() { s.Close() })
	return s
}

// takes takes serials of the present period, and compares their texts.
func (j *diary) takes(s *Dated, want ...string) {
	j.Helper()
	for _, w := range want {
		if got, err := s.Next(j.ctx); err != nil || got.Text != w {
			j.Fatalf("got %+v, %v, want %s", got, err, w)
		}
	}
}

// takesIn takes a serial of a period by name, and compares its text.
func (j *diary) takesIn(s *Dated, period int64, want string) {
	j.Helper()
	if got, err := s.Reserve(j.ctx, period, 1); err != nil || got.At(0).Text != want {
		j.Fatalf("period %d: got %+v, %v, want %s", period, got, err, want)
	}
}

// refuses takes a serial, and wants an error of the kind at once.
func (j *diary) refuses(s *Dated, kind error) error {
	j.Helper()
	got, err := s.Next(j.ctx)
	if !errors.Is(err, kind) {
		j.Fatalf("got %+v, %v, want %v", got, err, kind)
	}
	return err
}

// record returns the record of a period.
func (j *diary) record(period int64) store.Record {
	j.Helper()
	rs := got(j.st.Store.Get(j.ctx, []store.Key{periodKey(name, period)}))
	return rs[0]
}

// puts makes the record of a period what it was, as a backup does.
func (j *diary) puts(r store.Record) {
	j.Helper()
	must(store.Put(j.ctx, j.st.Store, store.Write{Old: j.record(r.Node).Nonce, New: r}))
}

func (j *diary) confirms(c Confirmation) {
	j.Helper()
	noError(j, Confirm(j.ctx, j.st, name, c))
}

// settled waits until no period asks the store for anything.
func (j *diary) settled(s *Dated) {
	j.Helper()
	s.mu.Lock()
	periods := make([]*Sequence, 0, len(s.periods))
	for _, p := range s.periods {
		periods = append(periods, p.numbers)
	}
	s.mu.Unlock()
	for _, p := range periods {
		settle(j, p)
	}
}
