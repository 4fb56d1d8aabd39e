package trail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

var boss = Actor{Action: "namespace create", Who: "boss", From: "10.0.0.7", Reason: "a new shop"}

func create(t *testing.T, st store.Store, name string) error {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lease.Namespaces(st).Create(t.Context(), name, s, nil)
	return err
}

func list(t *testing.T, st store.Store) []*pb.Event {
	t.Helper()
	all, err := List(t.Context(), st, "", func(*pb.Event) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// flawed is a store whose swaps of some records fail, before or after they are done.
type flawed struct {
	store.Store
	node  int64
	err   error
	after bool
}

func (f *flawed) Swap(ctx context.Context, writes []store.Write) []error {
	if f.err == nil || writes[0].New.Node != f.node {
		return f.Store.Swap(ctx, writes)
	}
	if f.after {
		f.Store.Swap(ctx, writes)
	}
	return []error{f.err}
}

var errAway = errors.New("the store is away")

// What cannot be written down is not done.
func TestNothingIsDoneWithoutItsEvent(t *testing.T) {
	st := &flawed{Store: store.NewMemory(), node: store.EventsNode, err: errAway}
	r := Record(st, boss)
	if err := create(t, r, "orders"); !errors.Is(err, errAway) {
		t.Errorf("%v", err)
	}
	if _, err := lease.Namespaces(st).Show(t.Context(), "orders"); !errors.Is(err, lease.ErrNoNamespace) {
		t.Errorf("it was done: %v", err)
	}
}

// A program that ends in the middle of an action leaves an event that says what it was about to do.
func TestAnEventComesBeforeItsAction(t *testing.T) {
	st := &flawed{Store: store.NewMemory()}
	if err := create(t, Record(st, boss), "orders"); err != nil {
		t.Fatal(err)
	}
	all := list(t, st)
	if len(all) != 1 || all[0].Done || all[0].Who != "boss" || !strings.Contains(fmt.Sprint(all), `"layout"`) {
		t.Errorf("%v", all)
	}
}

// An event says that its action is done only if it is known to be; one that another process was
// faster with was not done.
func TestDoneIsKnown(t *testing.T) {
	for _, c := range []struct {
		err          error
		after        bool
		events, done int
	}{{nil, false, 1, 1}, {errAway, false, 1, 0}, {errAway, true, 1, 0}} {
		st := &flawed{Store: store.NewMemory(), node: store.NamespaceNode, err: c.err, after: c.after}
		r := Record(st, boss)
		if err := create(t, r, "orders"); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		said, err := r.End(t.Context())
		all, done := list(t, st), 0
		if c.err != nil && !c.after { // no head says that there is one
			all = decode(get(t, st, "orders"))
		}
		for _, e := range all {
			if e.Done {
				done++
			}
		}
		if err != nil || len(all) != c.events || len(said) != c.events || done != c.done {
			t.Errorf("%+v: %v, %v", c, all, err)
		}
	}
	st := store.NewMemory()
	r := Record(st, boss)
	racing := &flawed{Store: st, node: store.NamespaceNode, err: store.ErrLost}
	r.Store = racing
	errs := r.Swap(t.Context(), []store.Write{{New: store.Record{
		Key: store.Key{Namespace: "orders", Node: store.NamespaceNode}, Nonce: "n",
	}}})
	said, err := r.End(t.Context())
	left := decode(get(t, st, "orders"))
	if !errors.Is(errs[0], store.ErrLost) || err != nil || len(said)+len(left) != 0 {
		t.Errorf("%v %v %v %v", errs, said, left, err)
	}
}

func get(t *testing.T, st store.Store, name string) store.Record {
	t.Helper()
	rs, err := st.Get(t.Context(), []store.Key{{Namespace: name, Node: store.EventsNode}})
	if err != nil {
		t.Fatal(err)
	}
	return rs[0]
}

// A record keeps the last hundred events, and fewer if they are long. One that was damaged begins
// anew.
func TestEventsAreBounded(t *testing.T) {
	for _, long := range []bool{false, true} {
		st, a := store.NewMemory(), boss
		for i := range 150 {
			a.Reason = fmt.Sprint("number ", i)
			if long {
				a.Reason += strings.Repeat("\u2028", 300)
			}
			if err := Add(t.Context(), st, a, nil); err != nil {
				t.Fatal(err)
			}
		}
		all, r := list(t, st), get(t, st, store.Servers)
		if n := len(all); long != (n < maxEvents) || n > maxEvents || n < 5 || len(r.Data) > maxBytes {
			t.Errorf("%d events of %d bytes", n, len(r.Data))
		}
		if last := all[len(all)-1]; !strings.HasPrefix(last.Reason, "number 149") {
			t.Errorf("%v", last)
		}
		damaged := r
		damaged.Nonce, damaged.Data = "another", "{"
		if err := st.Swap(t.Context(), []store.Write{{Old: r.Nonce, New: damaged}})[0]; err != nil {
			t.Fatal(err)
		}
		if err := Add(t.Context(), st, boss, nil); err != nil || len(list(t, st)) != 1 {
			t.Errorf("after damage: %v", err)
		}
	}
}

// The key that signs tickets is in the record of a namespace, and in no event.
func TestEventsHaveNoSecrets(t *testing.T) {
	st := store.NewMemory()
	r := Record(st, boss)
	if err := create(t, r, "orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	heads, err := st.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, key, ok := strings.Cut(heads[0].Data, `"ticket_key":"`)
	key, _, _ = strings.Cut(key, `"`)
	if text := fmt.Sprint(list(t, st)); !ok || len(key) < 16 || strings.Contains(text, key) {
		t.Errorf("%q in %s", key, text)
	}
}
