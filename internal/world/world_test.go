package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

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
