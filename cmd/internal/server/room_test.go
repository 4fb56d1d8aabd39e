package server

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Lists were read from the store, by as many callers as liked, before there
// was room for one.
func TestListsReserveBeforeTheyRead(t *testing.T) {
	st := &Later{}
	st.Absent(errors.New("the store was asked"))
	s := newService(t, st, Options{})
	other := &Caller{From: "192.0.2.1:1"}
	noError(t, s.Reserve(other, MostRoom*3/4))
	noError(t, s.Reserve(&Caller{}, MostRoom/5))
	ctx := WithCaller(t.Context(), &Caller{Identity: Open().Anyone()})
	list := func() map[string]error {
		_, namespaces := s.Management.ListNamespaces(ctx, &pb.ListNamespacesRequest{})
		_, sequences := s.Management.ListSequences(ctx, &pb.SequenceListRequest{})
		_, servers := s.Management.ListServers(ctx, &pb.ListServersRequest{})
		return map[string]error{"namespaces": namespaces, "sequences": sequences, "servers": servers}
	}
	for what, err := range list() {
		if KindOf(err) != TooMuch {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.Ended(other)
	for what, err := range list() {
		if KindOf(err) != Unavailable {
			t.Errorf("%s with room: %v", what, err)
		}
	}
}

// An answer that has no room uses up no ID.
func TestIDsReserveBeforeTheyAreMade(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{})
	noError(t, s.Reserve(&Caller{}, MostRoom))
	ctx, c := t.Context(), CallerOf(anyone(t.Context()))
	o := Order{Namespace: "n", Count: MaxBatch, Room: 8 * MaxBatch}
	made := func([]snowfence.ID) error { return errors.New("they were made") }
	_, runs := s.IDs.Runs(ctx, c, Order{Namespace: "n", Count: MaxBatch})
	_, past := s.IDs.Backfill(ctx, c, o, time.Now(), 0)
	for what, err := range map[string]error{
		"batch":  s.IDs.Batch(ctx, c, o, func(ids []snowfence.ID) { t.Error(made(ids)) }),
		"stream": s.IDs.Stream(ctx, c, o, 0, made), "runs": runs, "past": past,
	} {
		if KindOf(err) != TooMuch {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s.Spaces.List()[0].Own.gen.Load() != nil {
		t.Error("a generator was asked")
	}
}
