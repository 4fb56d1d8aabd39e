package server

import (
	"context"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// nodes is a change of which nodes can be leased.
func nodeRange(first, last int64) *pb.ChangeNamespaceRequest {
	return &pb.ChangeNamespaceRequest{Name: "hand", FirstNode: &first, LastNode: &last}
}

// A change that mentioned nothing gave a namespace all nodes of the usual
// layout, and a server leased node 944 beside a program that used 944 by
// hand: 106,496 equal IDs.
func TestChangeKeepsWhatItDoesNotMention(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{TTL: time.Second})
	ctx := t.Context()
	hand, last := nodeRange(0, 31), int64(31)
	hand.Layout = "twitter"
	made := &Caller{}
	create := func(layout string, first, last *int64) (*pb.Namespace, error) {
		made.Made = false
		return s.Management.CreateNamespace(WithCaller(ctx, made), &pb.CreateNamespaceRequest{
			Name: "hand", Layout: layout, FirstNode: first, LastNode: last,
		})
	}
	want, err := create(hand.Layout, hand.FirstNode, hand.LastNode)
	if err != nil || !made.Made {
		t.Fatal(made.Made, err)
	}
	must(s.one(ctx, "hand"))
	record := func() string {
		t.Helper()
		rs := got(st.Get(ctx, []store.Key{{Namespace: "hand", Node: store.NamespaceNode}}))
		return rs[0].Data
	}
	before := record()
	same := func(what string, got *pb.Namespace, err error) {
		t.Helper()
		if err != nil || !proto.Equal(want, got) || record() != before {
			t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
		}
	}
	for _, m := range []*pb.ChangeNamespaceRequest{
		{Name: "hand"}, {Name: "hand", Widen: true}, {Name: "hand", Unused: timestamppb.Now()},
	} {
		wantKind(t, errOf(s.Management.ChangeNamespace(ctx, m)), Invalid)
	}
	sp := must(s.Spaces.Find(ctx, "hand"))
	for what, m := range map[string]*pb.ChangeNamespaceRequest{
		"the layout that it has": {Name: "hand", Layout: "twitter"},
		"its last node":          {Name: "hand", LastNode: &last}, "all of it": hand,
	} {
		got, err := s.Management.ChangeNamespace(ctx, m)
		same(what, got, err)
	}
	for what, m := range map[string]*pb.ChangeNamespaceRequest{
		"no layout": {}, "no nodes": {Layout: "twitter"}, "its last node": {LastNode: &last},
	} {
		got, err := create(m.Layout, nil, m.LastNode)
		if made.Made {
			t.Errorf("made again with %s: it says that it made something", what)
		}
		same("made again with "+what, got, err)
	}
	if now, err := s.Spaces.Find(ctx, "hand"); err != nil || now != sp || sp.stale.Load() {
		t.Errorf("the server's own lease ended, though nothing changed: %v", err)
	}
	wide := nodeRange(0, 1023)
	wantKind(t, errOf(s.Management.ChangeNamespace(ctx, wide)), Refused)
	wantKind(t, errOf(create("", wide.FirstNode, wide.LastNode)), Exists)
	same("after that", want, nil)

	other := &pb.ChangeNamespaceRequest{Name: "hand", Layout: "bwmarrin"}
	if want, err = s.Management.ChangeNamespace(ctx, other); err != nil || want.FirstNode != 0 || want.LastNode != 31 ||
		len(want.History) != 1 {
		t.Fatalf("another layout: %+v, %v", want, err)
	}
	wide.Widen = true
	got, err := s.Management.ChangeNamespace(ctx, wide)
	if err != nil || got.LastNode != 1023 || got.Generation != want.Generation {
		t.Errorf("widened in words: %+v, %v", got, err)
	}
	if got, err = s.Management.ChangeNamespace(ctx, nodeRange(0, 63)); err != nil || got.FirstNode != 0 ||
		got.LastNode != 63 {
		t.Errorf("fewer nodes: %+v, %v", got, err)
	}
	until(t, "IDs of fewer nodes", func() bool { _, err := s.one(ctx, "hand"); return err == nil })
	if got, err = s.Management.ChangeNamespace(ctx, nodeRange(0, 0)); err != nil || got.FirstNode != 0 ||
		got.LastNode != 0 {
		t.Errorf("node 0 alone: %+v, %v", got, err)
	}
}

// deleteN deletes the namespace n.
var deleteN = &pb.DeleteNamespaceRequest{Name: "n", Confirm: "n"}

// Deleting and creating under load: each ID is new, and the server comes
// back every time.
func TestDeletedAndCreatedUnderLoad(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{TTL: 30 * time.Millisecond, Block: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				id, err := s.one(ctx, "n")
				switch {
				case err == nil:
					mu.Lock()
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				case ctx.Err() == nil && KindOf(err) != Unavailable && KindOf(err) != NoNamespace:
					t.Errorf("%s: %v", KindOf(err).Name(), err)
				}
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
	for range 5 {
		before := count()
		until(t, "IDs are made", func() bool { return count() > before })
		until(t, "deleted", func() bool { _, err := s.Management.DeleteNamespace(ctx, deleteN); return err == nil })
		until(t, "created", func() bool {
			_, err := s.Management.CreateNamespace(ctx, &pb.CreateNamespaceRequest{Name: "n", Layout: "twitter"})
			return err == nil
		})
	}
	before := count()
	until(t, "IDs are made again", func() bool { return count() > before })
	cancel()
	all.Wait()
}

// Namespaces that were only looked at make room for others; those that make
// IDs do not.
func TestRoomForNamespaces(t *testing.T) {
	st := newStore(t)
	for i := range 6 {
		create(t, st, "n"+strconv.Itoa(i), "twitter")
	}
	s := newService(t, st, Options{Spaces: 2})
	for i := range 6 {
		must(s.Spaces.Find(t.Context(), "n"+strconv.Itoa(i)))
	}
	for i := range 2 {
		must(s.one(t.Context(), "n"+strconv.Itoa(i)))
	}
	wantKind(t, errOf(s.Spaces.Find(t.Context(), "n2")), TooMuch)
	if n := len(s.Spaces.List()); n != 2 {
		t.Errorf("%d are open", n)
	}
}

// A namespace is deleted only when no process but this server holds nodes,
// and labels decide nothing.
func TestDeleteInUse(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{Label: "same"})
	must(s.one(t.Context(), "n"))
	granted, _, err := s.Leases.Acquire(t.Context(), Open().Anyone(), "n", wire.Request{Label: "same"})
	ticket := granted.Lease
	noError(t, err)
	wantKind(t, errOf(s.Management.DeleteNamespace(t.Context(), deleteN)), Refused)
	noError(t, s.Leases.Release(t.Context(), ticket, ticket.Grant.From))
	must(s.Management.DeleteNamespace(t.Context(), deleteN))
}

// To see one node, people read the list of all.
func TestOneNodeOfTheLeases(t *testing.T) {
	st := newStore(t, "orders")
	s := newService(t, st, Options{})
	for node := range int64(3) {
		must(scope.Namespaces(st).Veto(t.Context(), "orders", node, "test"))
	}
	for _, c := range []struct {
		node  int64
		after *int64
		want  int
	}{{1, nil, 1}, {7, nil, 0}, {-1, nil, 0}, {math.MaxInt64, nil, 0}, {1, new(int64(0)), 1}, {1, new(int64(1)), 0}} {
		m := &pb.ListLeasesRequest{Namespace: "orders", Node: &c.node, After: c.after}
		l, err := s.Management.ListLeases(t.Context(), m)
		if err != nil || len(l.Leases) != c.want || c.want > 0 && l.Leases[0].Node != c.node {
			t.Errorf("%v: %v, %v", m, l, err)
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// got returns the records of an answer that has to come.
func got[T any](v T, _ store.Reply, err error) T { return must(v, err) }
