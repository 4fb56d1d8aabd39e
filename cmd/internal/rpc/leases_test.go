package rpc

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/protobuf/proto"
)

// A ticket over the wire: acquired, renewed, repeated after a lost answer,
// listed, watched, released, and refused to clones and forgers.
func TestLeases(t *testing.T) {
	w := start(t)
	c := w.leases()
	ctx := t.Context()
	_, err := c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{}))
	w.wants("no label", err, connect.CodeInvalidArgument, "invalid")
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "\x1b[2Jgone"}))
	w.wants("a label that commands terminals", err, connect.CodeInvalidArgument, "invalid")
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", LastNode: proto.Int64(-1)}))
	w.wants("a range without a node", err, connect.CodeInvalidArgument, "invalid")
	a := must(c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me"})))
	first := a.Msg
	if first.Nodes != 1 || first.From >= first.Until || first.RenewAfter.AsDuration() != 5*time.Second ||
		first.Layout == "" || len(first.Secrets) > 0 {
		t.Errorf("%v", first)
	}
	attempt := "attempt-0123456789"
	renew := func(ticket []byte, attempt string) (*pb.Lease, error) {
		res, err := c.Renew(ctx, connect.NewRequest(&pb.RenewRequest{Ticket: ticket, Attempt: attempt}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	if _, err := renew(first.Ticket, attempt); err != nil { // the answer is lost
		t.Fatal(err)
	}
	second, err := renew(first.Ticket, attempt)
	if err != nil || second.Node != first.Node || second.From != first.From || second.Until < first.Until {
		t.Fatalf("%v after %v: %v", second, first, err)
	}
	_, err = renew(first.Ticket, "another-attempt-0123")
	w.wants("a clone with the old ticket", err, connect.CodeAborted, "lost")
	forged := bytes.Clone(second.Ticket)
	forged[len(forged)-1] ^= 1
	_, err = renew(forged, "another-attempt-0123")
	w.wants("a forged ticket", err, connect.CodeAborted, "lost")
	_, err = renew([]byte("x"), attempt)
	w.wants("no ticket", err, connect.CodeInvalidArgument, "invalid")
	_, err = renew(second.Ticket, "short")
	w.wants("a short attempt", err, connect.CodeInvalidArgument, "invalid")
	list, err := c.List(ctx, connect.NewRequest(&pb.ListLeasesRequest{Held: true}))
	if err != nil || len(list.Msg.Leases) != 1 || list.Msg.Leases[0].Node != first.Node ||
		list.Msg.Leases[0].Label != "me" {
		t.Errorf("%v, %v", list, err)
	}

	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.Watch(watch, connect.NewRequest(&pb.WatchLeasesRequest{}))
	if err != nil || !s.Receive() || len(s.Msg().Leases) != 1 || !s.Msg().Leases[0].Held {
		t.Fatalf("watch: %v %v", err, s.Err())
	}
	used := second.From
	must(c.Release(ctx, connect.NewRequest(&pb.ReleaseRequest{Ticket: second.Ticket, Used: &used})))
	if !s.Receive() || len(s.Msg().Leases) != 1 || s.Msg().Leases[0].Held {
		t.Errorf("watch after the release: %v %v", s.Msg(), s.Err())
	}
	_, err = renew(second.Ticket, "another-attempt-0123")
	w.wants("a released ticket", err, connect.CodeAborted, "lost")

	node := first.Node
	must(c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "you", Node: &node})))
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Node: &node, Guard: true}))
	w.wants("a guarded node", err, connect.CodeResourceExhausted, "no-nodes")
	w.as(server.Token{Verbs: []server.Verb{server.VerbLease}})
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Node: &node}))
	w.wants("another's node, without the right to manage", err, connect.CodeResourceExhausted, "no-nodes")
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "you", Node: &node}))
	w.wants("another's node by the name of its holder", err, connect.CodeResourceExhausted, "no-nodes")
	own, err := c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me"}))
	if err == nil {
		// after a restart
		_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Node: &own.Msg.Node}))
	}
	if err != nil {
		t.Errorf("one's own node again: %v", err)
	}
	w.as(server.Token{Verbs: []server.Verb{server.VerbLease}, Rate: 10, Burst: 10})
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Nodes: 16}))
	w.wants("more nodes than the rate", err, connect.CodeResourceExhausted, "limit")
	w.as(server.Token{Verbs: []server.Verb{server.VerbIDs}})
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me"}))
	w.wants("without the verb", err, connect.CodePermissionDenied, "denied")
}

// The secrets of a namespace are for those who could lease nodes in it.
func TestSecretsNeedTheVerbLease(t *testing.T) {
	w := start(t)
	c := snowfencev1connect.NewNamespaceServiceClient(http.DefaultClient, w.url)
	w.as(server.Token{Verbs: []server.Verb{server.VerbRead}})
	_, err := c.Show(t.Context(), connect.NewRequest(&pb.ShowNamespaceRequest{Name: "default", Secrets: true}))
	w.wants("secrets without the verb", err, connect.CodePermissionDenied, "denied")
}

// A lease without the secrets that its holder would need is refused before
// a node is taken: the only one is free afterwards.
func TestRefusedSecretsTakeNoNode(t *testing.T) {
	st := store.NewMemory()
	key := snowfence.GenerateSecret()
	o := server.Options{Keys: func(string) ([]*snowfence.Secret, error) { return []*snowfence.Secret{key}, nil }}
	keeps := serve(t, st, o)
	o.HandOut = true
	gives := serve(t, st, o)
	must(keeps.service.Management.CreateNamespace(t.Context(), &pb.CreateNamespaceRequest{
		Name: "secret", Layout: "randflake", FirstNode: proto.Int64(5), LastNode: proto.Int64(5),
	}))
	acquire := func(h *host) (*pb.Lease, error) {
		c := snowfencev1connect.NewLeaseServiceClient(http.DefaultClient, h.URL)
		res, err := c.Acquire(t.Context(), connect.NewRequest(&pb.AcquireRequest{Namespace: "secret", Label: "me"}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	(&rig{T: t}).wants("a server that keeps its secrets",
		errorOf(acquire(keeps)), connect.CodeFailedPrecondition, "refused")
	v, err := keeps.service.Views.Read(t.Context(), "secret")
	if err != nil || len(v.Leases) != 0 {
		t.Errorf("after the refusal: %v, %v", v.Leases, err)
	}
	got, err := acquire(gives)
	if err != nil || got.Node != 5 || len(got.Secrets) != 1 || !bytes.Equal(got.Secrets[0], key.AppendSecret(nil)) {
		t.Errorf("a server that hands them out: node %d, %d secrets, %v", got.GetNode(), len(got.GetSecrets()), err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// A watch of leases ends when its token loses the right to see them.
func TestWatchOfALostRight(t *testing.T) {
	w := start(t)
	before := w.as(server.Token{Verbs: []server.Verb{server.VerbRead}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // it takes as long as one look at the store
	defer cancel()
	s, err := snowfencev1connect.NewLeaseServiceClient(http.DefaultClient, w.url).Watch(ctx,
		connect.NewRequest(&pb.WatchLeasesRequest{}))
	if err != nil || !s.Receive() {
		t.Fatalf("watch: %v %v", err, s.Err())
	}
	w.as(server.Token{Verbs: []server.Verb{server.VerbIDs}}).Replace(before)
	if s.Receive() {
		t.Errorf("after the right was lost: %v", s.Msg())
	}
	w.wants("the end of the stream", s.Err(), connect.CodePermissionDenied, "denied")
}

// The server takes the last ticket of a holder that lost its lease, and
// notices by it that its store was rolled back.
func TestAcquireWithALostTicket(t *testing.T) {
	w := start(t)
	c, st := w.leases(), w.service.Store()
	acquire := func(namespace string, lost []byte) (*pb.Lease, error) {
		res, err := c.Acquire(t.Context(), connect.NewRequest(&pb.AcquireRequest{
			Namespace: namespace, Label: "me", Lost: lost,
		}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	a := must(acquire("", nil))
	_, err := acquire("", []byte("x"))
	w.wants("a damaged ticket as lost", err, connect.CodeInvalidArgument, "invalid")
	key := []store.Key{{Namespace: "default", Node: a.Node}}
	before := got(st.Get(t.Context(), key))
	b := must(c.Renew(t.Context(), connect.NewRequest(&pb.RenewRequest{
		Ticket: a.Ticket, Attempt: "attempt-0123456789",
	})))
	now := got(st.Get(t.Context(), key))
	must(store.Put(t.Context(), st, store.Write{Old: now[0].Nonce, New: before[0]}))
	next, err := acquire("", b.Msg.Ticket)
	if err != nil || next.From < b.Msg.Until {
		t.Fatalf("%v after %v: %v", next, b.Msg, err)
	}
	if rs, _, err := st.Get(t.Context(), []store.Key{{Namespace: "default", Node: store.NamespaceNode}}); err != nil ||
		rs[0].Until < b.Msg.Until {
		t.Errorf("the floor is %d, and ticks up to %d were granted: %v", rs[0].Until, b.Msg.Until, err)
	}
}

// A client names a part of the node, and needs no arithmetic for its range.
func TestAcquireWithin(t *testing.T) {
	w := start(t, "zones") // of Twitter's layout
	ctx, c := t.Context(), w.leases()
	acquire := func(within map[string]int64, first *int64) (*connect.Response[pb.Lease], error) {
		return c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{
			Namespace: "zones", Label: "me", Within: within, FirstNode: first,
		}))
	}
	l, err := acquire(map[string]int64{"datacenter": 3}, nil)
	if err != nil || l.Msg.Node < 96 || l.Msg.Node > 127 {
		t.Errorf("%v, %v", l, err)
	}
	_, err = acquire(map[string]int64{"zone": 3}, nil)
	w.wants("no such part", err, connect.CodeInvalidArgument, "invalid")
	_, err = acquire(map[string]int64{"datacenter": 3}, proto.Int64(5))
	w.wants("two ranges", err, connect.CodeInvalidArgument, "invalid")
}

// A holder renews after a third of the ttl, or of what a lessor can still
// give, with some chance; but once a second at most.
func TestRenewAfter(t *testing.T) {
	layout, now := snowfence.MustLayout("twitter"), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lessor      string
		ttl, left   time.Duration
		least, most time.Duration
	}{
		{"", 15 * time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second},
		{"a.b", 15 * time.Second, 15 * time.Second, 4500 * time.Millisecond, 5 * time.Second},
		{"a.b", 15 * time.Second, 6 * time.Second, 1800 * time.Millisecond, 2 * time.Second},
		{"a.b", 15 * time.Second, time.Second, time.Second, time.Second},
		{"a.b", 15 * time.Second, -time.Minute, time.Second, time.Second},
		{"a.b", 1500 * time.Millisecond, 1500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		l := wire.Lease{Lessor: c.lessor, TTL: c.ttl, Now: now}
		l.Grant.Until = layout.TickOf(now.Add(c.left))
		for range 100 {
			if d := renewAfter(l, layout); d < c.least || d > c.most {
				t.Errorf("%+v: %v", c, d)
				break
			}
		}
	}
}
