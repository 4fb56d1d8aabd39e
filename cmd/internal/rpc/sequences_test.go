package rpc

import (
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/lease/store"
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
