package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"github.com/snowfence/snowfence/sequence"
	"google.golang.org/protobuf/proto"
)

func (w *wire) sequences() snowfencev1connect.SequenceServiceClient {
	return snowfencev1connect.NewSequenceServiceClient(http.DefaultClient, w.url)
}

// Every method of the service, with what it refuses.
func TestSequenceService(t *testing.T) {
	w := start(t)
	ctx, c := t.Context(), w.sequences()
	show := func() *pb.Sequence {
		t.Helper()
		s, err := c.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: "orders"}))
		if err != nil {
			t.Fatal(err)
		}
		return s.Msg
	}
	next := func(req *pb.SequenceNextRequest) (*pb.SequenceNextResponse, error) {
		res, err := c.Next(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	create := func(req *pb.SequenceCreateRequest) error {
		return errorOf(c.Create(ctx, connect.NewRequest(req)))
	}
	w.wants("no sequence", errorOf(c.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: "orders"}))),
		connect.CodeNotFound, "no-sequence")
	w.wants("no number of none", errorOf(next(&pb.SequenceNextRequest{Name: "orders"})), connect.CodeNotFound,
		"no-sequence")
	w.wants("no name", create(&pb.SequenceCreateRequest{}), connect.CodeInvalidArgument, "invalid")
	w.wants("a bad mode", create(&pb.SequenceCreateRequest{Name: "orders", Mode: "slow"}),
		connect.CodeInvalidArgument, "invalid")
	w.wants("a step of 0", create(&pb.SequenceCreateRequest{Name: "orders", Step: proto.Int64(0)}),
		connect.CodeInvalidArgument, "invalid")
	wanted := &pb.SequenceCreateRequest{
		Name: "orders", Mode: "strict", Start: proto.Int64(1000), Step: proto.Int64(10), Max: proto.Int64(2999),
		MaxRange: 50, AfterFailover: "trust",
	}
	for range 2 { // the second time it changes nothing
		if err := create(wanted); err != nil {
			t.Fatal(err)
		}
	}
	if s := show(); s.State != "active" || s.Mode != "strict" || s.Start != 1000 || s.Step != 10 || s.Max != 2999 ||
		s.MinRange != 50 || s.MaxRange != 50 || s.AfterFailover != "trust" || s.GetNext() != 1000 || s.Left != 200 {
		t.Errorf("created: %v", s)
	}
	w.wants("another step", create(&pb.SequenceCreateRequest{Name: "orders", Mode: "strict", Start: wanted.Start}),
		connect.CodeAlreadyExists, "exists")
	if r, err := next(&pb.SequenceNextRequest{Name: "orders"}); err != nil || r.First != 1000 || r.Last != 1000 ||
		r.Step != 10 || len(r.Texts) > 0 {
		t.Errorf("a number: %v, %v", r, err)
	}
	if r, err := next(&pb.SequenceNextRequest{Name: "orders", Count: 5}); err != nil || r.First != 1010 ||
		r.Last != 1050 || r.Left != 194 {
		t.Errorf("five numbers: %v, %v", r, err)
	}
	w.wants("too many", errorOf(next(&pb.SequenceNextRequest{Name: "orders", Count: 1_000_001})),
		connect.CodeInvalidArgument, "invalid")
	w.wants("more than are left", errorOf(next(&pb.SequenceNextRequest{Name: "orders", Count: 500})),
		connect.CodeFailedPrecondition, "ended")

	change := func(req *pb.SequenceChangeRequest) error {
		return errorOf(c.Change(ctx, connect.NewRequest(req)))
	}
	w.wants("a change of nothing", change(&pb.SequenceChangeRequest{Name: "orders"}), connect.CodeInvalidArgument,
		"invalid")
	w.wants("a max below what was given out", change(&pb.SequenceChangeRequest{Name: "orders", Max: proto.Int64(1000)}),
		connect.CodeFailedPrecondition, "refused")
	if err := change(&pb.SequenceChangeRequest{Name: "orders", Max: proto.Int64(99_999)}); err != nil {
		t.Error(err)
	}
	if s := show(); s.Max != 99_999 || s.MaxRange != 50 || s.AfterFailover != "trust" {
		t.Errorf("a higher max alone: %v", s)
	}
	confirm := func(req *pb.SequenceConfirmRequest) error {
		return errorOf(c.Confirm(ctx, connect.NewRequest(req)))
	}
	w.wants("confirmed without a floor", confirm(&pb.SequenceConfirmRequest{Name: "orders"}),
		connect.CodeInvalidArgument, "invalid")
	if err := confirm(&pb.SequenceConfirmRequest{Name: "orders", Floor: proto.Int64(50_000)}); err != nil {
		t.Error(err)
	}
	if r, err := next(&pb.SequenceNextRequest{Name: "orders"}); err != nil || r.First < 50_000 {
		t.Errorf("after the confirmation: %v, %v", r, err)
	}
	list, err := c.List(ctx, connect.NewRequest(&pb.SequenceListRequest{}))
	if err != nil || len(list.Msg.Sequences) != 1 || list.Msg.Sequences[0].Name != "orders" {
		t.Errorf("%v, %v", list, err)
	}
	w.wants("deleted without its name", errorOf(c.Delete(ctx, connect.NewRequest(&pb.SequenceDeleteRequest{
		Name: "orders",
	}))), connect.CodeFailedPrecondition, "refused")
	if _, err := c.Delete(ctx, connect.NewRequest(&pb.SequenceDeleteRequest{
		Name: "orders", Confirm: "orders",
	})); err != nil {
		t.Error(err)
	}
	if s := show(); s.State != "deleted" {
		t.Errorf("deleted: %v", s)
	}
	w.wants("a number of a deleted one", errorOf(next(&pb.SequenceNextRequest{Name: "orders"})), connect.CodeNotFound,
		"no-sequence")
	wanted.Max = nil
	if err := create(wanted); err != nil {
		t.Error(err)
	}
	if r, err := next(&pb.SequenceNextRequest{Name: "orders"}); err != nil || r.First < 50_010 {
		t.Errorf("made again, it goes on: %v, %v", r, err)
	}

	w.as(server.Token{Namespaces: []string{"bills"}, Verbs: []server.Verb{server.VerbIDs, server.VerbRead}})
	list, err = c.List(ctx, connect.NewRequest(&pb.SequenceListRequest{}))
	if err != nil || len(list.Msg.Sequences) != 0 {
		t.Errorf("of one's own: %v, %v", list, err)
	}
	denied := func() map[string]error {
		return map[string]error{
			"next":    errorOf(next(&pb.SequenceNextRequest{Name: "orders"})),
			"show":    errorOf(c.Show(ctx, connect.NewRequest(&pb.SequenceShowRequest{Name: "orders"}))),
			"create":  create(&pb.SequenceCreateRequest{Name: "orders"}),
			"change":  change(&pb.SequenceChangeRequest{Name: "orders", Max: proto.Int64(1_000_000)}),
			"confirm": confirm(&pb.SequenceConfirmRequest{Name: "orders", Floor: proto.Int64(5)}),
			"delete": errorOf(c.Delete(ctx, connect.NewRequest(&pb.SequenceDeleteRequest{
				Name: "orders", Confirm: "orders",
			}))),
		}
	}
	for what, err := range denied() {
		w.wants(what+" of another's", err, connect.CodePermissionDenied, "denied")
	}
	may := map[string]server.Verb{"next": server.VerbIDs, "show": server.VerbRead}
	for _, verb := range []server.Verb{server.VerbIDs, server.VerbRead, server.VerbLease} {
		w.as(server.Token{Namespaces: []string{"ord*"}, Verbs: []server.Verb{verb}})
		for what, err := range denied() {
			if may[what] == verb {
				if err != nil {
					t.Errorf("%s with %s: %v", what, verb, err)
				}
				continue
			}
			w.wants(what+" with "+string(verb), err, connect.CodePermissionDenied, "denied")
		}
	}
	w.who.Store(nil)
	for what, err := range denied() {
		w.wants("nobody's "+what, err, connect.CodeUnauthenticated, "unauthenticated")
	}
}

// Numbers beyond 2^53 are strings in JSON, because JavaScript would round them.
func TestSequenceNumbersInJSON(t *testing.T) {
	w := start(t)
	post := func(method, body string) map[string]any {
		t.Helper()
		url := w.url + "/snowfence.v1.SequenceService/" + method
		res, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		var v map[string]any
		if err != nil || res.StatusCode != 200 || json.NewDecoder(bytes.NewReader(b)).Decode(&v) != nil {
			t.Fatalf("%s: %d %s %v", method, res.StatusCode, b, err)
		}
		return v
	}
	const start, last = "9223372036854775800", "9223372036854775807"
	if v := post("Create", `{"name":"large","mode":"strict","start":"`+start+`"}`); v["start"] != start ||
		v["max"] != last || v["next"] != start || v["left"] != "8" {
		t.Errorf("%v", v)
	}
	if v := post("Next", `{"name":"large","count":8}`); v["first"] != start || v["last"] != last || v["step"] != "1" {
		t.Errorf("%v", v)
	}
	if v := post("Show", `{"name":"large"}`); v["next"] != nil || v["state"] != "ended" {
		t.Errorf("%v", v)
	}
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
	if year < 2026 || r.First != 1 || r.Last != 2 || !slices.Equal(r.Texts, []string{text(1), text(2)}) {
		t.Errorf("two serials: %v", r)
	}
	if r := next(&pb.SequenceNextRequest{Period: year + 1}); r.First != 1 || r.Period != year+1 {
		t.Errorf("of the next year: %v", r)
	}
	if r := next(&pb.SequenceNextRequest{Period: year, WithoutTexts: true}); r.First != 3 || len(r.Texts) != 0 {
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

// No service but that of sequences shows or writes the record of one, whatever the token may do.
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
