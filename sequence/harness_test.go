package sequence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

var errFault = errors.New("the store does not answer")

// shaky is a store in memory that adds in one step, and with which anything
// can go wrong.
type shaky struct {
	store.Store

	mu     sync.Mutex
	id     string // its identity instead of its own
	calls  []string
	under  int                   // calls under way
	most   int                   // highest number of them
	before func(op string) error // an error: nothing is done
	after  func(op string) error // an error: it is done, and the caller is not told
	pins   int
}

func newShaky() *shaky { return &shaky{Store: store.NewMemory()} }

// call counts a call, and lets it fail before and after do.
func (s *shaky) call(op string, do func()) error {
	s.mu.Lock()
	s.calls = append(s.calls, op)
	s.under++
	s.most = max(s.most, s.under)
	before, after := s.before, s.after
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.under--
	}()
	if before != nil {
		if err := before(op); err != nil {
			return err
		}
	}
	do()
	if after != nil {
		return after(op)
	}
	return nil
}

func (s *shaky) Get(ctx context.Context, keys []store.Key) (rs []store.Record, reply store.Reply, err error) {
	failed := s.call("get", func() { rs, reply, err = s.at().Get(ctx, keys) })
	return rs, s.named(reply), errors.Join(failed, err)
}

func (s *shaky) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) (errs []error, _ []store.Record, reply store.Reply) {
	if failed := s.call("swap", func() { errs, _, reply = s.at().Swap(ctx, writes) }); failed != nil {
		return []error{failed}, nil, reply
	}
	return errs, nil, s.named(reply)
}

func (s *shaky) Add(ctx context.Context, a store.Addition) (r store.Record, reply store.Reply, err error) {
	failed := s.call("add", func() { r, reply, err = store.Add(ctx, s.at(), a) })
	if failed != nil {
		return store.Record{}, reply, failed
	}
	return r, s.named(reply), err
}

func (s *shaky) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	rs, reply, err := s.at().Heads(ctx)
	return rs, s.named(reply), err
}

// named is a reply with the identity that the store became. "nobody" has
// none.
func (s *shaky) named(r store.Reply) store.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Identity = cmp.Or(s.id, r.Identity); s.id == "nobody" {
		r.Identity = ""
	}
	return r
}

func (s *shaky) Suspect(ctx context.Context, identity string) (err error) {
	failed := s.call("suspect", func() { err = s.at().Suspect(ctx, identity) })
	return errors.Join(failed, err)
}

func (s *shaky) Pin(context.Context) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pins--
	}, nil
}

func (s *shaky) at() store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store
}

// empty makes the store lose all that it has.
func (s *shaky) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Store = store.NewMemory()
}

func (s *shaky) pinned() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pins
}

// fail sets what goes wrong from now on.
func (s *shaky) fail(before, after func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// isTold reports a store that keeps its identity while do runs.
func (s *shaky) isTold(t testing.TB, do func()) {
	t.Helper()
	before := must(store.Identity(t.Context(), s, ""))
	do()
	if must(store.Identity(t.Context(), s, "")) == before {
		t.Errorf("a take is lost, and the store is still %q", before)
	}
}

// become gives the store another identity.
func (s *shaky) become(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
}

// count returns how often an operation was called since it was asked last.
func (s *shaky) count(op string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == op {
			n++
		}
	}
	s.calls = slices.DeleteFunc(s.calls, func(c string) bool { return c == op })
	return n
}

// first returns a fault that happens once, at the first operation of the
// kind, with what else happens then.
func first(op string, err error, also ...func()) func(string) error {
	return nth(op, 1, err, func() {
		for _, do := range also {
			do()
		}
	})
}

// always returns a fault that happens at each operation of the kind.
func always(op string, err error) func(string) error {
	return func(o string) error {
		if o == op {
			return err
		}
		return nil
	}
}

// record returns the record of a sequence.
func (s *shaky) record(t testing.TB, name string) store.Record {
	t.Helper()
	rs := got(s.Store.Get(t.Context(), []store.Key{keyOf(name)}))
	return rs[0]
}

// put makes a record what it was, as a backup does.
func (s *shaky) put(t testing.TB, r store.Record) {
	t.Helper()
	old := s.record(t, r.Namespace[1:])
	must(store.Put(t.Context(), s.Store, store.Write{Old: old.Nonce, New: r}))
}

const name = "orders"

func create(t testing.TB, st store.Store, d Definition) {
	t.Helper()
	noError(t, Create(t.Context(), st, name, d))
}

func open(t testing.TB, st store.Store, o *Options) *Sequence {
	t.Helper()
	s := must(Open(t.Context(), st, name, o))
	t.Cleanup(func() { s.Close() })
	return s
}

// made returns a store with a sequence of a definition, and the sequence.
func made(t testing.TB, d Definition) (*shaky, *Sequence) {
	t.Helper()
	st := newShaky()
	create(t, st, d)
	return st, open(t, st, nil)
}

// expect takes numbers and compares them.
func expect(t testing.TB, s *Sequence, want ...int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // in a bubble, nothing else ends a wait in vain
	defer cancel()
	for _, w := range want {
		if n, err := s.Next(ctx); err != nil || n != w {
			t.Fatalf("got %d, %v, want %d", n, err, w)
		}
	}
}

// refused takes a number, and wants an error of the kind at once.
func refused(t testing.TB, s *Sequence, kind error) error {
	t.Helper()
	n, err := s.Next(t.Context())
	if !errors.Is(err, kind) {
		t.Fatalf("got %d, %v, want %v", n, err, kind)
	}
	return err
}

// listless is a store whose lists fail.
type listless struct{ store.Store }

func (listless) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errFault
}

func (listless) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return nil, store.Reply{}, errFault
}

func openAny(t testing.TB, all ...*shaky) *Sequence {
	t.Helper()
	a := must(OpenAny(t.Context(), stores(all...), name, nil))
	t.Cleanup(func() { a.Close() })
	return a
}

// newStores returns stores that know nothing of each other.
func newStores(n int) (all []*shaky) {
	for range n {
		all = append(all, newShaky())
	}
	return all
}

func stores(all ...*shaky) (out []store.Store) {
	for _, st := range all {
		out = append(out, st)
	}
	return out
}

// createAny makes a sequence in each store, in steps of so many: the first
// starts at 1, the next at 2.
func createAny(t testing.TB, step int64, d Definition, all ...*shaky) {
	t.Helper()
	for i, st := range all {
		d.Start, d.Step = new(int64(i+1)), step
		noError(t, Create(t.Context(), st, name, d))
	}
}

func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says

// errOf returns the error of a call that has to fail.
func errOf[T any](_ T, err error) error { return err }

// wantErr reports an error of another kind.
var wantErr = tests.WantErr

// got returns the records of an answer that has to come.
func got[T any](v T, _ store.Reply, err error) T { return must(v, err) }
