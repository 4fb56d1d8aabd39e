package scope_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A backup under a store that looks as before: IDs repeat, unless an
// operator says so first. A lease of the longest ttl, with a clock as far
// ahead as is allowed, was granted after the backup. The clock of the next
// holder is as far behind.
func TestRestored(t *testing.T) {
	for _, said := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const skew = 10 * time.Second
			node := int64(3)
			st, s := store.NewMemory(), newScheme(t, "time=41,node=8,seq=12,epoch=1999-01-01,tick=1ms")
			op := scope.Namespaces(st)
			must(op.Create(t.Context(), "default", s, &scope.NamespaceOptions{MaxTTL: time.Minute, MaxSkew: skew}))
			tests.NoError(t, must(lease.Open(t.Context(), st, "default", s, &lease.Options{Node: &node})).Close())
			take := func(off time.Duration) snowfence.Grant {
				o := &lease.Options{TTL: time.Minute, Node: &node, Time: clockOff(off)}
				l := must(lease.Open(t.Context(), st, "default", s, o))
				defer l.Orphan()
				return l.Status().Grant
			}
			restore := setBack(t, st)
			lost := take(skew)
			restore()
			if said {
				for range 2 { // it may be repeated
					must(op.Restored(t.Context(), "default"))
				}
			}
			next := take(-skew)
			if repeats := next.From < lost.Until; repeats == said {
				t.Errorf("said %t: %+v after %+v", said, next, lost)
			}
			ns, err := op.Show(t.Context(), "default")
			wait := time.Until(s.Layout().TimeOf(ns.Floor))
			if err != nil || wait > time.Minute+2*skew+time.Second {
				t.Errorf("said %t: nodes wait %v, %v", said, wait, err)
			}
		})
	}
}

// With a clock that is off, nothing is raised, and nothing lowered. For
// functions it is off by less than a namespace may allow.
func TestRestoredInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheme(t, "time=41,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		st := &timed{store.NewMemory(), "one", time.Now()}
		op := scope.Namespaces(st)
		wantErr(t, errOf(op.Restored(t.Context(), "default")), lease.ErrNoNamespace, "no namespace")
		must(op.Create(t.Context(), "gone", s, nil))
		must(op.Delete(t.Context(), "gone"))
		must(op.Create(t.Context(), "wide", s, &scope.NamespaceOptions{MaxSkew: 2 * time.Hour}))
		before := must(op.Create(t.Context(), "default", s, nil))
		st.now = time.Now().Add(time.Hour)
		wantErr(t, errOf(op.Create(t.Context(), "gone", s, nil)), lease.ErrSkew, "made again")
		wantErr(t, errOf(op.RetireFunctions(t.Context(), "wide", 5)), lease.ErrSkew, "functions that are gone")
		_, _, err := op.RecordFunctions(t.Context(), "wide", 5, scope.Functions{}, false)
		wantErr(t, err, lease.ErrSkew, "functions that are new")
		wantErr(t, errOf(op.Restored(t.Context(), "default")), lease.ErrSkew, "a clock that is off")
		less := &scope.NamespaceOptions{MaxTTL: time.Second}
		wantErr(t, errOf(op.Change(t.Context(), "default", nil, less)), lease.ErrSkew,
			"limits that are lowered with a clock that is off")
		if ns, err := op.Show(t.Context(), "default"); err != nil || ns.Floor != before.Floor ||
			ns.MaxTTL != before.MaxTTL {
			t.Errorf("%+v, %v", ns, err)
		}
	})
}

// setBack puts the records of a store back to their present state when it
// is called. Later records vanish.
func setBack(t *testing.T, st *store.Memory) (restore func()) {
	t.Helper()
	list := func() []store.Record {
		heads := got(st.Heads(context.Background()))
		var all []store.Record
		for _, head := range heads {
			among := snowfence.NodeRange{From: head.Node, Until: 1<<63 - 1}
			rs := got(st.List(context.Background(), head.Namespace, among, 1<<20))
			all = append(all, rs...)
		}
		return all
	}
	backup := map[store.Key]store.Record{}
	for _, r := range list() {
		backup[r.Key] = r
	}
	return func() {
		for _, r := range list() {
			old := r.Nonce
			if r = backup[r.Key]; r.Nonce == old {
				continue
			}
			must(store.Put(context.Background(), st, store.Write{Old: old, New: r}))
		}
	}
}

// timed is a store with a time and an identity of its own.
type timed struct {
	*store.Memory
	id  string
	now time.Time
}

func (s *timed) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, _, err := s.Memory.Get(ctx, keys)
	return rs, store.Reply{Identity: s.id, Now: s.now}, err
}

// A backup is older than the last renewal. Who is told to restore one is
// told to run restored, too, or the next holders repeat IDs.
func TestDamagedNamespaceSaysWhatIsSafe(t *testing.T) {
	st := store.NewMemory()
	must(scope.Namespaces(st).Create(t.Context(), "orders", newScheme(t, sqlSpec), nil))
	rs := got(st.Get(t.Context(), []store.Key{{Namespace: "orders", Node: store.NamespaceNode}}))
	r := rs[0]
	r.Nonce, r.Data = "another", "{"
	must(store.Put(t.Context(), st, store.Write{Old: rs[0].Nonce, New: r}))
	_, err := scope.Namespaces(st).Show(t.Context(), "orders")
	tests.Says(t, err, "stop the programs of this store, restore a backup, and run snowfence store restored before "+
		"one starts", "a damaged namespace")
}

func newScheme(t testing.TB, spec string) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l))
}

// generator leases a node for a generator. Closing the generator closes the
// lease.
func generator(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, c snowfence.Config, o *lease.Options,
) (*snowfence.Generator, error) {
	l, err := lease.Open(ctx, st, namespace, s, o)
	if err != nil {
		return nil, err
	}
	return l.Generator(c)
}
