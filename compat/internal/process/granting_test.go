package process

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// granting is a fence that grants what a test says.
type granting struct {
	scheme *snowfence.Scheme

	mu       sync.Mutex
	grant    snowfence.Grant
	gone     bool
	past     []int64 // what Grant was asked to reach past
	released []snowfence.Grant
	seal     func() int64
}

var errGone = errors.New("the store is away")

// grants returns a fence of a node, with a minute from the time of a clock
// on.
func grants(t testing.TB, spec string, node int64, clk *tests.Clock) *granting {
	s := scheme(spec)
	wall, _ := clk.Now()
	now := s.Layout().TickOf(wall)
	return &granting{scheme: s, grant: snowfence.Grant{Node: node, From: now, Until: now + 60_000}}
}

func (f *granting) Scheme() *snowfence.Scheme { return f.scheme }

func (f *granting) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seal != nil {
		return nil, snowfence.ErrBound
	}
	f.seal = seal
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seal = nil
	}, nil
}

func (f *granting) Held(after int64) (snowfence.Grant, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.grant.Until <= after {
		return snowfence.Grant{}, false
	}
	return f.grant, true
}

func (f *granting) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	f.mu.Lock()
	f.past = append(f.past, after)
	f.mu.Unlock()
	if gr, ok := f.Held(after); ok {
		return gr, nil
	}
	return snowfence.Grant{}, errGone
}

func (f *granting) Release(_ context.Context, gr snowfence.Grant, _ int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, gr)
	return nil
}

func (f *granting) set(change func(f *granting)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// gaveBack checks that the latest grant was given back, as it was granted.
func (f *granting) gaveBack(t testing.TB) {
	t.Helper()
	if len(f.released) != 1 || f.released[0].Node != f.grant.Node || f.released[0].From != f.grant.From {
		t.Errorf("given back %+v, granted %+v", f.released, f.grant)
	}
}

// lose takes the grant back.
func (f *granting) lose() {
	f.mu.Lock()
	f.gone = true
	seal := f.seal
	f.mu.Unlock()
	seal()
}

func refused(t testing.TB, what string, err error) {
	t.Helper()
	wantErr(t, err, ErrOverlap, "%s", what)
}

func closed(t testing.TB, h *Handle) {
	t.Helper()
	noError(t, h.Close())
}

// above checks that h makes nothing in the present tick, but in the next.
func above(t testing.TB, h *Handle, clk *tests.Clock, s *seen) {
	t.Helper()
	if id, err := h.TryNext(); err == nil {
		t.Errorf("%d in a tick that was used", id)
	}
	clk.Advance(time.Millisecond)
	s.add(t, must(h.TryNext()))
}
