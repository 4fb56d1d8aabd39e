package scope_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

const sqlSpec = "time=41,node=3,seq=2,epoch=1999-01-01T00:00:00Z,tick=1ms"

// sqlStage is a namespace whose nodes 0 to 5 can be leased.
func sqlStage(t *testing.T) (store.Store, *snowfence.Scheme) {
	t.Helper()
	st, s := store.NewMemory(), newScheme(t, sqlSpec)
	o := &scope.NamespaceOptions{MaxTTL: time.Minute, Nodes: snowfence.NodeRange{Until: 6}}
	must(scope.Namespaces(st).Create(t.Context(), "default", s, o))
	return st, s
}

// shop are functions in a database.
var shop = scope.Functions{Dialect: "postgres", Label: "shop", Lead: time.Second}

func recordSQL(t *testing.T, st store.Store, node int64) int64 {
	t.Helper()
	_, after, err := scope.Namespaces(st).RecordFunctions(t.Context(), "default", node, shop, false)
	tests.NoError(t, err)
	return after
}

// refused checks that an error matches ErrRefused, and says why.
func refused(t *testing.T, what string, err error, why string) {
	t.Helper()
	tests.Refuses(t, err, lease.ErrRefused, why)
}

func TestNodeIsRecordedForOneDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		try := func(node int64, f scope.Functions, again bool) error {
			_, _, err := scope.Namespaces(st).RecordFunctions(t.Context(), "default", node, f, again)
			return err
		}
		refused(t, "a leasable node", try(5, shop, false), "programs can lease")
		refused(t, "again, for the first time", try(6, shop, true), "without --again")
		wantErr(t, try(8, shop, false), lease.ErrInvalid, "a node that the layout lacks")
		for _, f := range []scope.Functions{
			{Label: strings.Repeat("a", 129)},
			{Label: "a\x00"},
			{Dialect: "a\x00"},
			{Schema: strings.Repeat("a", 129)},
			{Lead: -1},
			{Lead: 101 * 365 * 24 * time.Hour},
		} {
			wantErr(t, try(6, f, false), lease.ErrInvalid, "%.50v", f)
		}
		recordSQL(t, st, 6)
		refused(t, "the same node for another database", try(6, shop, false), "have this node since")
		refused(t, "in another dialect", try(6, scope.Functions{Dialect: "mysql"}, true), "are for postgres")
		refused(t, "in another schema", try(6, scope.Functions{Dialect: "postgres", Schema: "b"}, true), "are for")
		ahead := shop
		ahead.Lead = time.Minute
		got, after, err := scope.Namespaces(st).RecordFunctions(t.Context(), "default", 6, ahead, true)
		// A new database in place of one that is gone begins above what
		// that can have made.
		least := s.Layout().TickOf(time.Now().Add(90 * time.Second))
		if err != nil || after <= least || got.Functions.Lead != time.Minute {
			t.Errorf("printed again: %+v, after %d, want above %d: %v", got, after, least, err)
		}
		if got, _, err = scope.Namespaces(st).RecordFunctions(t.Context(), "default", 6, shop,
			true); got.Functions.Lead != time.Minute {
			t.Errorf("the longest lead counts: %+v, %v", got, err)
		}
	})
}

// between is a store in which something happens right before a swap.
type between struct {
	store.Store
	before func()
}

func (b *between) Swap(ctx context.Context, ws []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if do := b.before; do != nil && ws[0].New.Node >= 0 {
		b.before = nil
		do()
	}
	return b.Store.Swap(ctx, ws)
}

// TestLeaseOfANodeOfFunctions checks that no program leases such a node:
// not when its veto was lifted, and not in the moment in which it is
// recorded.
func TestLeaseOfANodeOfFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		node := int64(6)
		o := &lease.Options{Node: &node, TTL: 40 * time.Second}
		held := must(lease.Open(t.Context(), st, "default", s, o))
		_, _, err := scope.Namespaces(st).RecordFunctions(t.Context(), "default", 6, shop, false)
		refused(t, "a node that is held", err, "is held by")
		wantErr(t, held.Shutdown(t.Context()), nil, "shut down")
		// Another process takes the node after the look, and before it is
		// recorded.
		racing := &between{Store: st}
		racing.before = func() { recordSQL(t, st, 6) }
		wantErr(t, errOf(lease.Open(t.Context(), racing, "default", s, o)), lease.ErrVetoed,
			"taken while it was recorded")
		_, err = scope.Namespaces(st).Veto(t.Context(), "default", 6, "")
		refused(t, "its veto", err, "retire the node")
		lift(t, st, 6)
		wantErr(t, errOf(lease.Open(t.Context(), st, "default", s, o)), lease.ErrVetoed, "with the veto lifted")
		o = &lease.Options{Node: &node, Nodes: 2}
		wantErr(t, errOf(lease.Open(t.Context(), st, "default", s, o)), lease.ErrVetoed, "in a block")
		// A block that begins below such a node, whose veto was lifted.
		st2, s2 := sqlStage(t)
		recordSQL(t, st2, 7)
		lift(t, st2, 7)
		wantErr(t, errOf(lease.Open(t.Context(), st2, "default", s2, o)), lease.ErrVetoed,
			"in a block that begins below")
		other := int64(7)
		l := must(lease.Open(t.Context(), st, "default", s, &lease.Options{Node: &other}))
		l.Close()
	})
}

// lift takes a veto away as an older program would.
func lift(t *testing.T, st store.Store, node int64) {
	t.Helper()
	rs := got(st.Get(t.Context(), []store.Key{{Namespace: "default", Node: node}}))
	r, old := rs[0], rs[0].Nonce
	if old == "" {
		return // no record, and no veto
	}
	r.Veto, r.Nonce = "", old+"l"
	must(store.Put(t.Context(), st, store.Write{Old: old, New: r}))
}

// crashing is a store for a program that ends before it writes the record
// of a node.
type crashing struct{ store.Store }

func (c crashing) Swap(ctx context.Context, ws []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if ws[0].New.Node < 0 {
		return c.Store.Swap(ctx, ws)
	}
	return []error{errors.New("the program ended here")}, nil, store.Reply{}
}

// TestRecordedNodeIsNotLeasedAfterACrash records a node for functions right
// before a lease takes or renews it. Then the program ends, and evicts no
// holder: the lease ends by what it reads itself.
func TestRecordedNodeIsNotLeasedAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, taken := range []bool{false, true} {
			st, s := sqlStage(t)
			node := int64(6)
			record := func() {
				_, _, err := scope.Namespaces(crashing{st}).RecordFunctions(t.Context(), "default", 6, shop, false)
				tests.Fails(t, err, "the program did not end between the record and the eviction")
			}
			o := &lease.Options{Node: &node, TTL: 40 * time.Second}
			if !taken { // the lease has looked at the namespace already
				_, err := lease.Open(t.Context(), &between{Store: st, before: record}, "default", s, o)
				wantErr(t, err, lease.ErrVetoed, "taken after the record")
				continue
			}
			// The look finds the node free, then the lease takes it, then
			// the node is recorded.
			var held *lease.Lease
			reads := &afterRead{Store: crashing{st}}
			reads.do = func() { held = must(lease.Open(t.Context(), st, "default", s, o)) }
			_, _, err := scope.Namespaces(reads).RecordFunctions(t.Context(), "default", 6, shop, false)
			if err == nil || held == nil {
				t.Fatalf("the program did not end between the record and the eviction: %v", err)
			}
			time.Sleep(50 * time.Second)
			if g, ok := held.Held(s.Layout().TickOf(time.Now())); ok {
				t.Errorf("renewed after the record: %+v", g)
			}
			held.Close()
		}
	})
}

// TestFunctionsBeginAboveALease lets a lease take the node in the moment in
// which it is recorded.
func TestFunctionsBeginAboveALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		node := int64(6)
		reads := &afterRead{Store: st, do: func() {
			l := must(lease.Open(t.Context(), st, "default", s, &lease.Options{Node: &node, TTL: 40 * time.Second}))
			t.Cleanup(func() { l.Close() })
		}}
		above := func(what string, after int64, least time.Duration) {
			if tick := s.Layout().TickOf(time.Now().Add(least)); after < tick {
				t.Errorf("%s: IDs begin after %d, want %d at least", what, after, tick)
			}
		}
		above("a lease meanwhile", recordSQL(t, reads, 6), 39*time.Second)
		wantErr(t, st.Suspect(t.Context(), must(store.Identity(t.Context(), st, "default"))), nil, "suspected")
		above("a store that may have lost a lease", recordSQL(t, st, 7), time.Minute+2*scope.DefaultTTL)
		// So do they when they are printed again under another layout.
		o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 3}, Unused: time.Now()}
		aligned := newScheme(t, strings.Replace(sqlSpec, "node=3,seq=2", "node=2,seq=3", 1))
		must(scope.Namespaces(st).Change(t.Context(), "default", aligned, o))
		_, after, err := scope.Namespaces(st).RecordFunctions(t.Context(), "default", 6, shop, true)
		if above("another layout", after, 39*time.Second); err != nil {
			t.Error(err)
		}
	})
}

// afterRead is a store in which something happens right after the first
// read of a node, or of the least one given.
type afterRead struct {
	store.Store
	do    func()
	least int64
}

func (a *afterRead) Get(ctx context.Context, keys []store.Key) (_ []store.Record, reply store.Reply, _ error) {
	rs, reply, err := a.Store.Get(ctx, keys)
	if do := a.do; do != nil && keys[0].Node >= a.least {
		a.do = nil
		do()
	}
	return rs, reply, err
}

func TestNamespaceOfFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		ctx := t.Context()
		recordSQL(t, st, 6)
		_, err := scope.Namespaces(st).Delete(ctx, "default")
		refused(t, "the end of the namespace", err, "retire the node first")
		if ns, err := scope.Namespaces(st).Show(ctx, "default"); err != nil || ns.State != scope.Active {
			t.Errorf("after that: %+v, %v", ns, err)
		}
		_, err = scope.Namespaces(st).Change(ctx, "default",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 7}, Unused: time.Now()})
		refused(t, "leases of its node", err, "retire the node first")
		aligned := newScheme(t, "time=41,node=2,seq=3,epoch=1999-01-01T00:00:00Z,tick=1ms")
		for _, force := range []bool{false, true} {
			o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 4}, Force: force}
			_, err = scope.Namespaces(st).Change(ctx, "default", aligned, o)
			refused(t, fmt.Sprint("a layout with its IDs, force ", force), err, "retire the node first")
		}
		// Its nodes 0 to 2 are 0 to 5 before: the functions go on beside
		// them for ever.
		fewer := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 3}}
		_, err = scope.Namespaces(st).Change(ctx, "default", aligned, fewer)
		refused(t, "a layout that leaves out a number in silence", err, "that you leave out: 3 to 3")
		fewer.Unused = time.Now()
		must(scope.Namespaces(st).Change(ctx, "default", aligned, fewer))
		node := int64(3)
		o := &lease.Options{Node: &node}
		wantErr(t, errOf(lease.Open(ctx, st, "default", aligned, o)), lease.ErrVetoed,
			"a lease of the node that is theirs now")
		_, _, err = scope.Namespaces(st).RecordFunctions(ctx, "default", 3, shop, false)
		refused(t, "other functions with the node that is theirs now", err, "retire the node first")
		q, err := scope.Namespaces(st).RetireFunctions(ctx, "default", 6)
		if least := s.Layout().TickOf(time.Now().Add(31 * time.Second)); err != nil || q.Until <= least {
			t.Fatalf("retired %+v, want after %d: %v", q, least, err)
		}
		_, err = scope.Namespaces(st).RetireFunctions(ctx, "default", 6)
		refused(t, "retired twice", err, "no functions")
		// Back to the first layout: its own IDs equal the functions' IDs,
		// until these are past.
		all := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 8}, Unused: time.Now()}
		_, err = scope.Namespaces(st).Change(ctx, "default", s, all)
		refused(t, "the layout of functions that made IDs a moment ago", err, "can be made by both")
		time.Sleep(32 * time.Second)
		all.Unused = time.Now()
		ns, err := scope.Namespaces(st).Change(ctx, "default", s, all)
		if err != nil || ns.Start < q.Until {
			t.Errorf("and half a minute later: %+v, %v", ns, err)
		}
		wantErr(t, errOf(scope.Namespaces(st).Delete(ctx, "default")), nil, "the end of the namespace then")
	})
}

// Ticks of a layout came into a record of the next one.
func TestRetiredDuringAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		recordSQL(t, st, 6)
		time.Sleep(time.Minute)
		reads, next := &afterRead{Store: st}, newScheme(t, "time=40,node=12,seq=10,epoch=1999-01-01T00:00:00Z,tick=1s")
		change := func(to *snowfence.Scheme) func() {
			return func() {
				o := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 6}, Unused: time.Now()}
				must(scope.Namespaces(st).Change(t.Context(), "default", to, o))
			}
		}
		reads.do = change(next)
		_, err := scope.Namespaces(reads).RetireFunctions(t.Context(), "default", 6)
		refused(t, "a layout that was changed meanwhile", err, "try again")
		r := got(st.Get(t.Context(), []store.Key{{Namespace: "default", Node: 6}}))[0]
		if until := next.Layout().TimeOf(r.Until); until.After(time.Now().Add(time.Hour)) {
			t.Errorf("the node is used up to %v", until)
		}
		reads.do, reads.least = change(s), store.NamespaceNode
		_, err = scope.Namespaces(reads).RetireFunctions(t.Context(), "default", 6)
		refused(t, "a layout that came back meanwhile", err, "try again")
		must(scope.Namespaces(st).RetireFunctions(t.Context(), "default", 6))
	})
}

// TestRetiredNodeIsLeasedAboveItsIDs checks who may have a node after its
// functions.
func TestRetiredNodeIsLeasedAboveItsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := sqlStage(t)
		ctx, node := t.Context(), int64(6)
		recordSQL(t, st, 6)
		time.Sleep(time.Minute)
		q := must(scope.Namespaces(st).RetireFunctions(ctx, "default", 6))
		if after := recordSQL(t, st, 6); after < q.Until {
			t.Errorf("other functions begin after %d, want %d", after, q.Until)
		}
		q = must(scope.Namespaces(st).RetireFunctions(ctx, "default", 6))
		must(scope.Namespaces(st).Change(ctx, "default",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 7}, Unused: time.Now()}))
		o := &lease.Options{Node: &node}
		g := must(generator(ctx, st, "default", s, snowfence.Config{MaxWait: time.Hour}, o))
		defer g.Close()
		id, err := g.Next(ctx)
		p, _ := s.Decode(id)
		if err != nil || p.Tick < q.Until {
			t.Errorf("a lease of the node made tick %d, want %d at least: %v", p.Tick, q.Until, err)
		}
	})
}
