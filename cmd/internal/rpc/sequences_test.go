package rpc

import (
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"github.com/snowfence/snowfence/sequence"
)

func (w *rig) sequences() snowfencev1connect.SequenceServiceClient {
	return snowfencev1connect.NewSequenceServiceClient(http.DefaultClient, w.url)
}

// Only the service of sequences shows or writes the record of one, with any
// token.
func TestNoOtherServiceReachesSequences(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	noError(t, sequence.Create(ctx, w.service.Store(), "orders", sequence.Definition{}))
	key := store.Key{Namespace: "#orders", Node: -2}
	before, _, err := w.service.Store().Get(ctx, []store.Key{key})
	if err != nil || before[0].Nonce == "" {
		t.Fatalf("%v, %v", before, err)
	}
	names := snowfencev1connect.NewNamespaceServiceClient(http.DefaultClient, w.url)
	const name = "#orders"
	for _, c := range []struct {
		what string
		err  error
	}{
		{"show", errorOf(names.Show(ctx, connect.NewRequest(&pb.ShowNamespaceRequest{Name: name})))},
		{"create", errorOf(names.Create(ctx, connect.NewRequest(&pb.CreateNamespaceRequest{Name: name})))},
		{"change", errorOf(names.Change(ctx, connect.NewRequest(&pb.ChangeNamespaceRequest{
			Name: name, Layout: "snowfence",
		})))},
		{"delete", errorOf(names.Delete(ctx, connect.NewRequest(&pb.DeleteNamespaceRequest{Name: name, Confirm: name})))},
		{"acquire", errorOf(w.leases().Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{
			Namespace: name, Label: "me",
		})))},
		{"leases", errorOf(w.leases().List(ctx, connect.NewRequest(&pb.ListLeasesRequest{Namespace: name})))},
		{"IDs", errorOf(w.ids().Next(ctx, connect.NewRequest(&pb.NextRequest{Namespace: name})))},
		{"a number", errorOf(w.sequences().Next(ctx, connect.NewRequest(&pb.SequenceNextRequest{Name: name})))},
		{"a sequence", errorOf(w.sequences().Create(ctx, connect.NewRequest(&pb.SequenceCreateRequest{Name: name})))},
	} {
		w.wants(c.what, c.err, connect.CodeInvalidArgument, "invalid")
	}
	watch, err := w.leases().Watch(ctx, connect.NewRequest(&pb.WatchLeasesRequest{Namespace: name}))
	if err == nil && watch.Receive() {
		t.Errorf("watch: %v", watch.Msg())
	}
	after, _, err := w.service.Store().Get(ctx, []store.Key{key})
	if err != nil || after[0] != before[0] {
		t.Errorf("%v, not %v: %v", after, before, err)
	}
}

// Only HTTP gave IDs for a time gone by: clients of gRPC and Go programs
// had to be near the store.
func TestPastOverRPC(t *testing.T) {
	st := store.NewMemory()
	l := must(snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2015-01-01,first=1"))
	s := must(snowfence.NewScheme(l))
	must(scope.Namespaces(st).Create(t.Context(), "orders", s, nil))
	c := client(t, serve(t, st, server.Options{}))
	want := remote.Backfill{Namespace: "orders", At: time.Date(2019, 5, 17, 8, 30, 0, 0, time.UTC), Node: 5}
	ids := make([]snowfence.ID, 3)
	fails(t, c.FillAt(t.Context(), ids, want), "IDs for the past of a namespace that does not allow them")
	must(scope.Namespaces(st).AllowBackfill(t.Context(), "orders", 0))
	seen := map[snowfence.ID]bool{}
	for range 2 {
		noError(t, c.FillAt(t.Context(), ids, want))
		for _, id := range ids {
			p, err := s.Decode(id)
			if err != nil || p.Sequence != 0 || p.Node != 5 || p.Time.Sub(want.At).Abs() > time.Second {
				t.Errorf("%+v, %v", p, err)
			}
			if seen[id] {
				t.Errorf("%d came twice", id)
			}
			seen[id] = true
		}
	}
	for name, p := range map[string]remote.Backfill{
		"a time to come":         {Namespace: "orders", At: time.Now().Add(time.Hour)},
		"a time before all":      {Namespace: "orders", At: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a node that is none":    {Namespace: "orders", At: want.At, Node: 1024},
		"a namespace that isn't": {Namespace: "nothing", At: want.At},
	} {
		fails(t, c.FillAt(t.Context(), ids, p), "no error: %s", name)
	}
	fails(t, c.FillAt(t.Context(), make([]snowfence.ID, 1_000_001), want), "more than a million")
}
