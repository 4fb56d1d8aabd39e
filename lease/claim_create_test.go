package lease_test

import (
	"context"
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// slowStart is a store whose first answer does not come.
type slowStart struct {
	store.Store
	asked int
}

var errNoAnswer = errors.New("no answer")

func (s *slowStart) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	s.asked++
	if s.asked == 1 {
		return nil, store.Reply{}, errNoAnswer
	}
	return s.Store.Get(ctx, keys)
}

// TestCreateNeedsAnswer: who may create the namespace is not told to create
// it when it was the store that did not answer.
func TestCreateNeedsAnswer(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	st := &slowStart{Store: store.NewMemory()}
	o := &lease.Options{Create: true}
	if _, err := lease.Open(t.Context(), st, "default", s, o); !errors.Is(err, errNoAnswer) ||
		errors.Is(err, lease.ErrNoNamespace) {
		t.Errorf("with a store that does not answer: %v", err)
	}
	l := must(lease.Open(t.Context(), st, "default", s, o))
	noError(t, l.Close())
}
