package lease_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// commands are texts that clear a terminal, turn its writing round, end a
// line, or are no text.
var commands = []string{"\x1b[2Jgone", "a\u202eb", "a\nb", "a\u2028b", "\u009b2J", "\xff", "\x00", "\x7f"}

// A label cleared the terminal of the operator who listed leases, and came
// in over every wire.
func TestLabelsDoNotCommandTerminals(t *testing.T) {
	st := store.NewMemory()
	s := newScheme(t, "twitter")
	must(scope.Namespaces(st).Create(t.Context(), "default", s, nil))
	for _, text := range commands {
		if store.Plain(text) {
			t.Errorf("%q is plain", text)
		}
		o := &lease.Options{Label: text}
		wantErr(t, errOf(lease.Open(t.Context(), st, "default", s, o)), lease.ErrInvalid, "a lease of %q", text)
		if _, err := lease.Serve(st, s, nil).Acquire(t.Context(), "default",
			wire.Request{Label: text}); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("a ticket of %q: %v", text, err)
		}
		wantErr(t, errOf(scope.Namespaces(st).Veto(t.Context(), "default", 3, text)), lease.ErrInvalid,
			"a veto because of %q", text)
		wantErr(t, errOf(scope.Namespaces(st).Create(t.Context(), "a"+text, s, nil)), lease.ErrInvalid,
			"a namespace %q", "a"+text)
	}
	for _, text := range []string{"", "Zürich, 東京 №1 ☃", "a\u200db", "host/12 (a b)"} {
		if !store.Plain(text) {
			t.Errorf("%q is not plain", text)
		}
	}
	if rs, err := scope.Namespaces(st).Leases(t.Context(), "default"); err != nil || len(rs) != 0 {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// Errors show what a store has already.
func TestErrorsQuoteWhatAStoreHas(t *testing.T) {
	st := store.NewMemory()
	s := newScheme(t, "twitter")
	one := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 1}}
	ns := must(scope.Namespaces(st).Create(t.Context(), "default", s, one))
	r := store.Record{
		Key: store.Key{Namespace: "default"}, Nonce: "n", Generation: ns.Generation, Until: 1 << 40, Holder: "h",
		Label: "\x1b[2J", Veto: "\x1b[2J",
	}
	for _, veto := range []string{"", "\x1b[2J"} {
		old := r.Nonce
		if r.Veto = veto; veto == "" {
			old = ""
		} else {
			r.Nonce = "m"
		}
		must(store.Put(t.Context(), st, store.Write{Old: old, New: r}))
		node := int64(0)
		for _, o := range []*lease.Options{{}, {Node: &node, Guard: true}} {
			_, err := lease.Open(t.Context(), st, "default", s, o)
			if err == nil || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q", err)
			}
		}
	}
}
