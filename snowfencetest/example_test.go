package snowfencetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/snowfencetest"
)

// orders is code under test.
func orders(ctx context.Context, ids *snowfence.Generator, n int) (saved int, err error) {
	for range n {
		if _, err := ids.Next(ctx); err != nil {
			return saved, fmt.Errorf("order %d: %w", saved+1, err)
		}
		saved++
	}
	return saved, nil
}

func TestOrders(t *testing.T) {
	k := snowfencetest.New(t, 1) // another seed makes other IDs
	if n, err := orders(t.Context(), k.Generator, 10000); n != 10000 || err != nil {
		t.Errorf("%d orders, %v", n, err)
	}
	k.LoseLease()
	if n, err := orders(t.Context(), k.Generator, 1); n != 0 || !errors.Is(err, snowfence.ErrFenced) {
		t.Errorf("without a lease: %d orders, %v", n, err)
	}
	k.Restore()
	if n, err := orders(t.Context(), k.Generator, 1); n != 1 || err != nil {
		t.Errorf("with a lease again: %d orders, %v", n, err)
	}
}
