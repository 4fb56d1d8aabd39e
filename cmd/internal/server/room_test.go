package server

import (
	"errors"
	"testing"

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
