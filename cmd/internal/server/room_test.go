package server

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/backfill"
	"github.com/snowfence/snowfence/lease/scope"
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

// The buffers and the makers of IDs took several times the room of their
// answers.
func TestRoomIsWhatIsTaken(t *testing.T) {
	st := newStore(t, "n")
	create(t, st, "past", "time=53,node=2,seq=8,epoch=2015-01-01,tick=10us,first=5")
	must(scope.Namespaces(st).AllowBackfill(t.Context(), "past", 4))
	s := newService(t, st, Options{})
	ctx, c := t.Context(), CallerOf(anyone(t.Context()))
	_, large := s.IDs.takeBuffer(MaxBatch)
	large()
	if ids, _ := s.IDs.takeBuffer(smallBatch + 1); cap(ids) > 2*smallBatch {
		t.Errorf("a small batch has the buffer of %d IDs", cap(ids))
	}
	others := &Caller{}
	noError(t, s.Reserve(others, MostRoom-12_000))
	o := Order{Namespace: "n", Count: 1025, Room: 8 * 1025}
	wantKind(t, s.IDs.Batch(ctx, c, o, func([]snowfence.ID) {}), TooMuch)
	at := time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC)
	wantKind(t, errOf(s.IDs.Backfill(ctx, c, Order{Namespace: "past", Count: 50}, at, 0)), TooMuch)
	s.Ended(others)
	for n, want := range map[int64]error{MaxBatch: backfill.ErrFull, mostPast: backfill.ErrFull, mostPast - 1: nil} {
		ids, err := s.IDs.Backfill(ctx, c, Order{Namespace: "past", Count: n}, at, 0)
		wantErr(t, err, want, "%d IDs of the past", n)
		if err == nil && int64(len(ids)) != n {
			t.Errorf("%d of %d IDs of the past", len(ids), n)
		}
	}
	s.Ended(c)
	noError(t, s.Reserve(others, MostRoom))
}

// A list that was shorter than its room made the server think that it used
// less than it did.
func TestRoomGivenBackEarly(t *testing.T) {
	var room Room
	list, same, others := &Caller{From: "192.0.2.1:1"}, &Caller{From: "192.0.2.1:2"}, &Caller{}
	const mb = 1 << 20
	noError(t, room.Reserve(same, 166*mb))
	noError(t, room.Reserve(list, 20*mb))
	noError(t, room.Reserve(list, -19*mb))
	noError(t, room.Reserve(others, 69*mb))
	for _, c := range []*Caller{list, same, others} {
		room.Ended(c)
	}
	if room.used.total != 0 || len(room.used.by) > 0 {
		t.Errorf("%d bytes are used at the end: %v", room.used.total, room.used.by)
	}
}

// A list that was shorter than expected gave back room that it never took.
func TestShortListsGiveBackWhatTheyTook(t *testing.T) {
	var room Room
	var l listed
	list, others := &Caller{From: "192.0.2.1:1"}, &Caller{}
	l.n.Store(1) // the list was empty before, too
	noError(t, room.reserveList(list, &l, func() (int, error) { return 0, nil }))
	if room.Reserve(others, MostRoom+LeaseRoom) == nil {
		t.Error("others got more than there is")
	}
	if room.Ended(list); room.used.total != 0 || len(room.used.by) > 0 {
		t.Errorf("%d bytes are used at the end: %v", room.used.total, room.used.by)
	}
}
