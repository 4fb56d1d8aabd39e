package process

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// A generator without users stays for a while, so that a program that makes
// a node a request does not wait.
func TestSpareGeneratorGoesOn(t *testing.T) {
	r := newSet()
	a := open(t, r, bwmarrin, 1, Options{})
	g := a.gen.Load()
	noError(t, a.Close())
	b := open(t, r, bwmarrin, 1, Options{})
	if b.gen.Load() != g {
		t.Error("the node has another generator")
	}
	if len(r.unused) != 0 {
		t.Error("a generator in use counts as unused")
	}
	noError(t, b.Close())
	if b := open(t, r, bwmarrin, 1, Options{Lead: 5}); b.gen.Load() == g {
		t.Error("the generator has another lead")
	} else if _, err := g.TryNext(); !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("the old one was not closed: %v", err)
	}
	// Two clocks cannot be compared.
	clk := newClock()
	for _, o := range [][2]Options{{{Time: clk.Now}, {}}, {{}, {Time: clk.Now}}} {
		r := newSet()
		a := open(t, r, bwmarrin, 1, o[0])
		g := a.gen.Load()
		closed(t, a)
		if open(t, r, bwmarrin, 1, o[1]).gen.Load() == g {
			t.Error("the generator has the clock of another")
		}
	}
	// What is unused is in no one's way.
	c := open(t, r, bwmarrin, 2, Options{})
	noError(t, c.Close())
	d := open(t, r, bwmarrin+",first=5", 2, Options{})
	if len(r.unused) != 0 {
		t.Errorf("%d generators are kept", len(r.unused))
	}
	runtime.KeepAlive(d)
}

func TestSpareGeneratorsAreFew(t *testing.T) {
	r := newSet()
	var first *snowfence.Generator
	for node := range int64(1000) {
		h := open(t, r, bwmarrin, node, Options{})
		if node == 0 {
			first = h.gen.Load()
		}
		must(h.Next(t.Context()))
		noError(t, h.Close())
	}
	wantErr(t, errOf(first.TryNext()), snowfence.ErrClosed, "the one unused for longest")
	open := 0
	for _, sp := range r.spaces {
		open += len(sp.uses)
	}
	if len(r.unused) != spare || open != spare {
		t.Errorf("%d unused generators, %d open, want %d", len(r.unused), open, spare)
	}
}

func TestCloseCountsOnce(t *testing.T) {
	r := newSet()
	a, b := open(t, r, bwmarrin, 1, Options{}), open(t, r, bwmarrin, 1, Options{})
	for range 3 {
		noError(t, a.Close())
	}
	wantErr(t, errOf(b.Next(t.Context())), nil, "the other handle")
	if len(r.unused) != 0 {
		t.Error("a generator in use counts as unused")
	}
	wantErr(t, errOf(a.Next(t.Context())), snowfence.ErrClosed, "Next of a closed handle")
	wantErr(t, errOf(a.TryNext()), snowfence.ErrClosed, "TryNext of a closed handle")
	if n, err := a.Fill(t.Context(), make([]snowfence.ID, 3)); n != 0 || !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("Fill of a closed handle: %d, %v", n, err)
	}
	if got := panicOf(a.Must); got == nil {
		t.Error("Must of a closed handle did not panic")
	}
	for range 5 { // a cleanup that was stopped counts no user off
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unused) != 0 {
		t.Error("the collector counted a closed handle a second time")
	}
	runtime.KeepAlive(b)
}

// A handle lives through its last call, even if the garbage collector runs
// and another setting waits for the node.
func TestCollectorDuringTheLastCall(t *testing.T) {
	for name, call := range map[string]func(h *Handle) error{
		"Next":    func(h *Handle) error { _, err := h.Next(context.Background()); return err },
		"TryNext": func(h *Handle) error { _, err := h.TryNext(); return err },
		"Fill":    func(h *Handle) error { _, err := h.Fill(context.Background(), make([]snowfence.ID, 1)); return err },
		"Must":    func(h *Handle) error { h.Must(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newSet()
			var inCall atomic.Bool
			source := func() (time.Time, time.Duration) {
				if inCall.CompareAndSwap(true, false) {
					for range 5 { // what is garbage now is noticed by a goroutine of the runtime
						runtime.GC()
						time.Sleep(2 * time.Millisecond)
					}
					wantErr(t, errOf(r.open(scheme(bwmarrin+",first=5"), 1, Options{})), ErrOverlap,
						"another setting, during the call")
				}
				return time.Now(), time.Since(start)
			}
			h := open(t, r, bwmarrin, 1, Options{Time: source})
			inCall.Store(true)
			noError(t, call(h))
			if inCall.Load() {
				t.Error("the call did not look at the clock")
			}
		})
	}
}

var start = time.Now()

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// says reports an error without a text, and a call without an error.
var says = tests.Says
