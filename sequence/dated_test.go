package sequence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// clock is a world whose wall clock is set by hand.
type clock struct {
	world.World
	at func() time.Time
}

func (c *clock) Now() time.Time { return c.at() }

func TestSerialsOfADay(t *testing.T) {
	now := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	ctx := world.With(t.Context(), &clock{world.Real(), func() time.Time { return now }})
	st := lease.NewMemory()
	if err := Create(ctx, st, name, Definition{Pattern: "RE-{year}{month}{day}-{n:3}"}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, st, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{"RE-20261122-001", "RE-20261122-002"} {
		if got, err := s.Serial(context.Background()); err != nil || got.Text != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	now = now.Add(time.Second)
	if got, err := s.Serial(ctx); err != nil || got != (Serial{"RE-20261123-001", 20261123, 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.SerialsIn(ctx, 20261125, 1); !errors.Is(err, ErrPeriod) {
		t.Errorf("%v", err)
	}
	if got, err := s.SerialsIn(ctx, 20261124, 7); err != nil || got.At(6).Text != "RE-20261124-007" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Next(ctx); !errors.Is(err, ErrDated) {
		t.Errorf("%v", err)
	}
}
