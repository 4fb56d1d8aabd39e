package world_test

import (
	"context"
	"encoding/base32"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

func TestMachine(t *testing.T) {
	var counter atomic.Uint64
	counter.Store(7)
	m := world.At(&counter)
	if m.Copied() {
		t.Error("a machine was copied before its counter changed")
	}
	counter.Store(6) // any other value counts
	if !m.Copied() || world.At(&counter).Copied() {
		t.Error("a change of the counter is not seen, or seen for ever")
	}
	if world.Real().Machine().Copied() {
		t.Error("this machine was copied within a nanosecond")
	}
}

// A text differs if any of its sources does: equal randomness of the kernel
// is not enough for two copies of a machine to write the same.
func TestTextHasAllSources(t *testing.T) {
	var kernel, other [32]byte
	other[31] = 1
	seen := map[string]string{}
	for what, text := range map[string]string{
		"base":            world.Text(kernel, 1, 1),
		"kernel":          world.Text(other, 1, 1),
		"processor":       world.Text(kernel, 2, 1),
		"processor, high": world.Text(kernel, 1|1<<63, 1),
		"clock":           world.Text(kernel, 1, 2),
	} {
		if before, ok := seen[text]; ok {
			t.Errorf("%s and %s have one text", what, before)
		}
		seen[text] = what
		if _, err := base32.StdEncoding.DecodeString(text + "======"); err != nil || len(text) != 26 {
			t.Errorf("%s: %q: %v", what, text, err)
		}
	}
	if a, b := world.Text(kernel, 1, 1), world.Text(kernel, 1, 1); a != b {
		t.Errorf("%s and %s are of the same sources", a, b)
	}
	if a, b := world.Real().Text(), world.Real().Text(); a == b {
		t.Errorf("%s came twice", a)
	}
}

func TestRealWait(t *testing.T) {
	w := world.Real()
	ready := make(chan struct{}, 1)
	never := make(chan struct{})
	for i := range 3 {
		chans := []<-chan struct{}{never, nil, never}
		chans[i] = ready
		ready <- struct{}{}
		if got := w.Wait(-1, chans...); got != i {
			t.Errorf("Wait with channel %d ready returned %d", i, got)
		}
		if len(ready) != 0 {
			t.Errorf("Wait did not receive from channel %d", i)
		}
	}
	if got := w.Wait(time.Millisecond, never); got != -1 {
		t.Errorf("Wait with nothing ready returned %d", got)
	}
}

type other struct{ world.World }

func TestWith(t *testing.T) {
	ctx := context.Background()
	if world.With(ctx, world.Real()) != ctx {
		t.Error("the real world costs a value in the ctx")
	}
	w := other{world.Real()}
	if got := world.From(world.With(ctx, w)); got != world.World(w) {
		t.Errorf("From returned %v", got)
	}
	if got := world.From(ctx); got != world.Real() {
		t.Errorf("From of a plain ctx returned %v", got)
	}
}
