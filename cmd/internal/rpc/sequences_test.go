package rpc

import (
	"fmt"
	"net/http"
	"slices"
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

// A dated sequence answers with its period, and with texts unless the caller writes them.
func TestSerials(t *testing.T) {
	w := start(t)
	ctx, c := t.Context(), w.sequences()
	_, err := c.Create(ctx, connect.NewRequest(&pb.SequenceCreateRequest{
		Name: "bills", Mode: "strict", Pattern: "RE-{year}-{n:4}", Zone: "Asia/Tokyo",
	}))
	if err != nil {
		t.Fatal(err)
	}
	next := func(req *pb.SequenceNextRequest) *pb.SequenceNextResponse {
		t.Helper()
		req.Name = "bills"
		res, err := c.Next(ctx, connect.NewRequest(req))
		if err != nil {
			t.Fatal(err)
		}
		return res.Msg
	}
	r := next(&pb.SequenceNextRequest{Count: 2})
	year := r.Period
	text := func(n int64) string { return fmt.Sprintf("RE-%d-%04d", year, n) }
	if year < 2026 || r.First != 1 || r.Last != 2 || !slices.Equal(r.Numbers, []string{text(1), text(2)}) {
		t.Errorf("two serials: %v", r)
	}
	if r := next(&pb.SequenceNextRequest{Period: year + 1}); r.First != 1 || r.Period != year+1 {
		t.Errorf("of the next year: %v", r)
	}
	if r := next(&pb.SequenceNextRequest{Period: year, WithoutNumbers: true}); r.First != 3 || len(r.Numbers) != 0 {
		t.Errorf("without texts: %v", r)
	}
	_, err = c.Next(ctx, connect.NewRequest(&pb.SequenceNextRequest{Name: "bills", Period: year + 2}))
	w.wants("two years ahead", err, connect.CodeFailedPrecondition, "period")
	s, err := c.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: "bills"}))
	if err != nil || s.Msg.Pattern != "RE-{year}-{n:4}" || s.Msg.Zone != "Asia/Tokyo" || s.Msg.Period != year ||
		s.Msg.GetNext() != 4 {
		t.Errorf("%v, %v", s, err)
	}
}

// Only the service of sequences shows or writes the record of one, with any token.
func TestNoOtherServiceReachesSequences(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	if err := sequence.Create(ctx, w.service.Store(), "orders", sequence.Definition{}); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Namespace: "#orders", Node: -2}
	before, err := w.service.Store().Get(ctx, []store.Key{key})
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
	after, err := w.service.Store().Get(ctx, []store.Key{key})
	if err != nil || after[0] != before[0] {
		t.Errorf("%v, not %v: %v", after, before, err)
	}
}
