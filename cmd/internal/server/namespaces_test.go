package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

func nodes(first, last int64) NamespaceSpec { return NamespaceSpec{First: &first, Last: &last} }

// A change that mentioned nothing gave a namespace all nodes of the usual layout, and a
// server leased node 944 beside a program that used 944 by hand: 106,496 equal IDs.
func TestChangeKeepsWhatItDoesNotMention(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{TTL: time.Second})
	ctx := t.Context()
	hand := nodes(0, 31)
	hand.Layout = "twitter"
	want, made, err := s.CreateNamespace(ctx, "hand", hand)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if _, err := s.one(ctx, "hand"); err != nil {
		t.Fatal(err)
	}
	record := func() string {
		t.Helper()
		rs, err := st.Get(ctx, []store.Key{{Namespace: "hand", Node: store.NamespaceNode}})
		if err != nil {
			t.Fatal(err)
		}
		return rs[0].Data
	}
	before := record()
	same := func(what string, got NamespaceInfo, err error) {
		t.Helper()
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if err != nil || string(a) != string(b) || record() != before {
			t.Errorf("%s: %s, want %s (%v)", what, b, a, err)
		}
	}
	for what, w := range map[string]NamespaceSpec{
		"nothing": {}, "no more than that it is wide": {Widen: true},
		"a time": {Unused: time.Now()},
	} {
		if _, err := s.ChangeNamespace(ctx, "hand", w); KindOf(err) != Invalid {
			t.Errorf("a change that names %s: %v", what, err)
		}
	}
	sp, err := s.Space(ctx, "hand")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(31)
	for what, w := range map[string]NamespaceSpec{
		"the layout that it has": {Layout: "twitter"},
		"its last node":          {Last: &last}, "all of it": hand,
	} {
		got, err := s.ChangeNamespace(ctx, "hand", w)
		same(what, got, err)
	}
	for what, w := range map[string]NamespaceSpec{
		"no layout": {}, "no nodes": {Layout: "twitter"},
		"its last node": {Last: &last},
	} {
		got, made, err := s.CreateNamespace(ctx, "hand", w)
		if made {
			t.Errorf("made again with %s: it says that it made something", what)
		}
		same("made again with "+what, got, err)
	}
	if now, err := s.Space(ctx, "hand"); err != nil || now != sp || sp.stale.Load() {
		t.Errorf("the server's own lease ended, though nothing changed: %v", err)
	}
	wide := nodes(0, 1023)
	if _, err := s.ChangeNamespace(ctx, "hand", wide); KindOf(err) != Refused {
		t.Errorf("wider, without a word: %v", err)
	}
	if _, _, err := s.CreateNamespace(ctx, "hand", wide); KindOf(err) != Exists {
		t.Errorf("made again wider: %v", err)
	}
	same("after that", want, nil)

	if want, err = s.ChangeNamespace(ctx, "hand", NamespaceSpec{Layout: "bwmarrin"}); err != nil || want.First != 0 ||
		want.Last != 31 || len(want.Past) != 1 {
		t.Fatalf("another layout: %+v, %v", want, err)
	}
	wide.Widen = true
	got, err := s.ChangeNamespace(ctx, "hand", wide)
	if err != nil || got.Last != 1023 || got.Generation != want.Generation {
		t.Errorf("widened in words: %+v, %v", got, err)
	}
	if got, err = s.ChangeNamespace(ctx, "hand", nodes(0, 63)); err != nil || got.First != 0 || got.Last != 63 {
		t.Errorf("fewer nodes: %+v, %v", got, err)
	}
	until(t, "IDs of fewer nodes", func() bool { _, err := s.one(ctx, "hand"); return err == nil })
	if got, err = s.ChangeNamespace(ctx, "hand", nodes(0, 0)); err != nil || got.First != 0 || got.Last != 0 {
		t.Errorf("node 0 alone: %+v, %v", got, err)
	}
}

// A change that is refused ends no lease of anybody.
func TestRefusedChangeDisturbsNobody(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{})
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	sp, err := s.Space(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	var collision *lease.CollisionError
	_, err = s.ChangeNamespace(t.Context(), "n",
		NamespaceSpec{Layout: "time=41,node=10,seq=12,epoch=2026-01-01T00:00:00Z,tick=1ms"})
	if KindOf(err) != Refused || !errors.As(err, &collision) {
		t.Errorf("%v", err)
	}
	if now, err := s.Space(t.Context(), "n"); err != nil || now != sp || sp.stale.Load() {
		t.Errorf("the server's own lease ended: %v", err)
	}
}

// Deleting and creating under load: each ID is new, and the server comes back every time.
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
		until(t, "deleted", func() bool { return s.DeleteNamespace(ctx, "n", "n") == nil })
		until(t, "created", func() bool {
			_, _, err := s.CreateNamespace(ctx, "n",
				NamespaceSpec{Layout: "twitter"})
			return err == nil
		})
	}
	before := count()
	until(t, "IDs are made again", func() bool { return count() > before })
	cancel()
	all.Wait()
}

// Namespaces that were only looked at make room for others; those that make IDs do not.
func TestRoomForNamespaces(t *testing.T) {
	st := newStore(t)
	for i := range 6 {
		create(t, st, "n"+strconv.Itoa(i), "twitter")
	}
	s := newService(t, st, Options{Spaces: 2})
	for i := range 6 {
		if _, err := s.Space(t.Context(), "n"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if _, err := s.one(t.Context(), "n"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Space(t.Context(), "n2"); KindOf(err) != TooMuch {
		t.Errorf("a third namespace: %v", err)
	}
	if n := len(s.Spaces()); n != 2 {
		t.Errorf("%d are open", n)
	}
}

// A namespace is deleted only when nobody but this server holds nodes, and labels decide nothing.
func TestDeleteInUse(t *testing.T) {
	st := newStore(t, "n")
	s := newService(t, st, Options{Label: "same"})
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	granted, _, err := s.Acquire(t.Context(), Open().Anyone(), "n", lease.Request{}, lease.Options{Label: "same"})
	ticket := granted.Ticket
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteNamespace(t.Context(), "n", "n"); KindOf(err) != Refused {
		t.Errorf("deleted while somebody of the same label holds a node: %v", err)
	}
	if err := s.Release(t.Context(), ticket, ticket.From); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteNamespace(t.Context(), "n", "n"); err != nil {
		t.Error(err)
	}
}
