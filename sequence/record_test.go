package sequence

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

func TestNames(t *testing.T) {
	st := store.NewMemory()
	for _, good := range []string{"a", "a.b", "2026", "a.2026b", "a.b2", "_-", strings.Repeat("x", 63)} {
		noError(t, Create(t.Context(), st, good, Definition{}))
	}
	for _, bad := range []string{
		"", "a b", "#a", "ä", "-", ".", "..", "a.", "a.2026", "day.20261122", ".5", strings.Repeat("x", 64), strings.Repeat("x", 65),
	} {
		_, show := Show(t.Context(), st, bad)
		_, opened := Open(t.Context(), st, bad, nil)
		for call, err := range map[string]error{
			"Create": Create(t.Context(), st, bad, Definition{}), "Delete": Delete(t.Context(), st, bad),
			"Show": show, "Open": opened,
		} {
			wantErr(t, err, lease.ErrInvalid, "%s(%q)", call, bad)
		}
	}
}

// A record of a later version may mean other numbers: it is refused, as is
// a damaged one. Only a damaged one asks for a backup,
// and all that makes it safe.
func TestRecordsThatAreRefused(t *testing.T) {
	const later, damaged = "use a newer program: ", "restore a backup, and run snowfence store restored before"
	for data, cure := range map[string]string{
		`{"mode":"fast","step":1,"class":3}`: later, `{"mode":"dated","step":1}`: later,
		`{`: damaged, ``: damaged, `{"step":"1"}`: damaged, `{"step":"1","class":3}`: damaged,
	} {
		st := newShaky()
		create(t, st, Definition{})
		r := st.record(t, name)
		r.Data, r.Nonce = data, "damaged"
		st.put(t, r)
		_, err := Open(t.Context(), st, name, nil)
		_, list := List(t.Context(), st)
		for _, err := range []error{err, list, Create(t.Context(), st, name, Definition{})} {
			says(t, err, cure, "%s", data)
			if cure == later && strings.Contains(err.Error(), "backup") {
				t.Errorf("%s: %v", data, err)
			}
		}
		if st.pins != 0 {
			t.Errorf("%d pins are left", st.pins)
		}
	}
}

// A write that comes after another process's is done again, on top of it.
func TestWritesThatAreLostAreRepeated(t *testing.T) {
	st := newShaky()
	st.fail(first("swap", store.ErrLost), nil)
	create(t, st, Definition{})
	id := must(read(t.Context(), st, name)).Moved.ID
	st.fail(first("swap", store.ErrLost), nil)
	noError(t, Delete(t.Context(), st, name))
	if now := must(read(t.Context(), st, name)).Moved.ID; id == "" || now != id {
		t.Errorf("the ID of the sequence was %q, and is %q", id, now)
	}
	if n := st.count("swap"); n != 4 {
		t.Errorf("%d writes, want 4", n)
	}
	wantErr(t, errOf(Restored(t.Context(), st, name)), ErrNoSequence, "a deleted sequence")
	st.fail(always("swap", errFault), nil)
	wantErr(t, Create(t.Context(), st, name, Definition{}), errFault, "a store that fails")
	st.fail(always("get", errFault), nil)
	wantErr(t, Create(t.Context(), st, name, Definition{}), errFault, "a store that cannot be read")
}

// pinless is a store that cannot keep open what it needs.
type pinless struct{ store.Store }

func (pinless) Pin(context.Context) (func(), error) { return nil, errFault }

func TestOpenOfAStoreThatFails(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{})
	wantErr(t, errOf(Open(t.Context(), pinless{st}, name, nil)), errFault, "a store that cannot be pinned")
	st.fail(always("get", errFault), nil)
	if _, err := Open(t.Context(), st, name, nil); !errors.Is(err, errFault) || st.pins != 0 {
		t.Errorf("%v, %d pins", err, st.pins)
	}
}

// The record has what stores compare and nothing in the columns that they
// index.
func TestRecord(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1, 2)
	r := st.record(t, name)
	want := store.Record{
		Key: store.Key{Namespace: "#orders", Node: -2}, Nonce: r.Nonce, Revision: 3, Generation: 1, From: 2,
		PrevUntil: 1, At: r.At, Data: r.Data,
	}
	if r != want || r.At == 0 || r.Nonce == "" {
		t.Errorf("%+v, want %+v", r, want)
	}
	if r.Until != 0 || r.Holder != "" || r.Label != "" {
		t.Errorf("an indexed column is used: %+v", r)
	}
}
