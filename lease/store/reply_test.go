package store

import (
	"context"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// fickle is a store whose reads another one answers.
type fickle struct{ *Memory }

func (f fickle) Get(ctx context.Context, keys []Key) ([]Record, Reply, error) {
	rs, reply, err := f.Memory.Get(ctx, keys)
	reply.Identity = "another"
	return rs, reply, err
}

// An addition counts only where one store carries out all of it.
func TestAdditionOfTwoStores(t *testing.T) {
	key := Key{Namespace: "#n", Node: 1}
	for i := range 2 {
		st := NewMemory()
		tests.Must(Put(t.Context(), st, Write{New: Record{Key: key, Nonce: "x"}}))
		add := Addition{Key: key, N: 1, Limit: 5, Nonce: "y"}
		var err error
		if i == 0 {
			_, _, err = Add(t.Context(), st, add)
		} else {
			_, _, err = Add(t.Context(), fickle{st}, add)
		}
		if (err != nil) != (i == 1) {
			t.Errorf("%d: %v", i, err)
		}
	}
	var r Reply
	if err := r.Join(Reply{Identity: "a"}); err != nil || r.Identity != "a" {
		t.Errorf("the first part: %+v, %v", r, err)
	}
	if err := r.Join(Reply{Identity: "b"}); err == nil || r.Identity != "a" {
		t.Errorf("a part of another store: %+v, %v", r, err)
	}
}
