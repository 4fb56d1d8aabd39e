package lease_test

import (
	"context"
	"errors"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// A check may refuse a number that is leased as a fixed one, too.
func TestGuardedNumberChecked(t *testing.T) {
	st, s, node := store.NewMemory(), thousand(t), int64(7)
	taken := errors.New("somebody else has it")
	check := func(context.Context, int64) error { return taken }
	o := lease.Options{Node: &node, Guard: true, Create: true, Check: check}
	if _, err := lease.Open(t.Context(), st, "default", s, &o); !errors.Is(err, taken) ||
		!errors.Is(err, lease.ErrVetoed) {
		t.Errorf("a refused number: %v", err)
	}
}
