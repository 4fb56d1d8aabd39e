package scale

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

const namespace = "scale"

// fleet is many leases of one namespace.
type fleet struct {
	testing.TB
	st     store.Store
	scheme *snowfence.Scheme
	opts   lease.Options
	leases []*lease.Lease
}

// openers is how many leases are opened at a time: enough to fill the round
// trips of a group.
const openers = 2048

// newFleet makes the namespace, for Randflake's layout with its 131,072
// nodes.
func newFleet(t testing.TB, st store.Store, ttl time.Duration) *fleet {
	t.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
	if err != nil {
		t.Fatal(err)
	}
	limits := &lease.NamespaceOptions{MaxTTL: ttl}
	if _, err := lease.Namespaces(st).Create(t.Context(), namespace, s, limits); err != nil {
		t.Fatal(err)
	}
	return &fleet{TB: t, st: store.Group(st), scheme: s, opts: lease.Options{TTL: ttl, Label: "fleet"}}
}

// grow opens leases until there are n, and returns how long that took.
func (f *fleet) grow(n int) time.Duration {
	f.Helper()
	start := time.Now()
	var all sync.WaitGroup
	first := len(f.leases)
	f.leases = append(f.leases, make([]*lease.Lease, n-first)...)
	errs, places := make([]error, n), make(chan struct{}, openers)
	for i := first; i < n; i++ {
		places <- struct{}{}
		all.Go(func() {
			o := f.opts
			o.Node = new(int64(i))
			f.leases[i], errs[i] = lease.Open(f.Context(), f.st, namespace, f.scheme, &o)
			<-places
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		f.Fatal(err)
	}
	return time.Since(start)
}

// look returns the states of all leases, which must all hold grants of
// nodes of their own, of which a second is left.
func (f *fleet) look() []lease.Status {
	f.Helper()
	out := make([]lease.Status, len(f.leases))
	holders := make(map[int64]int, len(out))
	now := f.scheme.Layout().TickOf(time.Now())
	for i, l := range f.leases {
		s := l.Status()
		other, taken := holders[s.Grant.Node]
		switch {
		case !s.Held:
			f.Fatalf("lease %d of %d holds nothing: %v", i, len(out), s.Trouble)
		case taken:
			f.Fatalf("leases %d and %d both hold node %d", other, i, s.Grant.Node)
		case s.Grant.Until <= now:
			f.Fatalf("the grant of lease %d ran out at tick %d, and it is %d: %v", i, s.Grant.Until, now, s.Trouble)
		}
		holders[s.Grant.Node] = i
		out[i] = s
	}
	return out
}

// compare checks that no lease has another grant than before, but for its
// end.
func (f *fleet) compare(before, after []lease.Status) {
	f.Helper()
	for i, b := range before {
		a := after[i]
		if a.Grant.Node != b.Grant.Node || a.Grant.From != b.Grant.From || a.Grant.Until < b.Grant.Until {
			f.Fatalf("lease %d had %+v and has %+v: %v", i, b.Grant, a.Grant, a.Trouble)
		}
	}
}

// stored checks the store's own records against what the leases say they
// hold.
func (f *fleet) stored() {
	f.Helper()
	before := f.look()
	rs, err := lease.Namespaces(f.st).Leases(f.Context(), namespace)
	if err != nil {
		f.Fatal(err)
	}
	held := map[int64]store.Record{}
	holders := map[string]int64{}
	for _, r := range rs {
		if r.Holder == "" {
			continue
		}
		if other, ok := holders[r.Holder]; ok {
			f.Fatalf("nodes %d and %d are recorded for one lease", other, r.Node)
		}
		held[r.Node], holders[r.Holder] = r, r.Node
	}
	if len(held) != len(before) {
		f.Errorf("%d nodes are recorded as held, by %d leases", len(held), len(before))
	}
	for i, b := range before {
		if r := held[b.Grant.Node]; r.Until < b.Grant.Until || r.From > b.Grant.From {
			f.Fatalf("lease %d may use %+v, and the record says %+v", i, b.Grant, r)
		}
	}
}

// close gives all nodes back.
func (f *fleet) close() {
	f.Helper()
	if err := lease.ShutdownAll(f.Context(), f.leases); err != nil {
		f.Fatal(err)
	}
	rs, err := lease.Namespaces(f.st).Leases(f.Context(), namespace)
	if err != nil {
		f.Fatal(err)
	}
	if n := len(rs); n < len(f.leases) {
		f.Errorf("%d records are left of %d leases", n, len(f.leases))
	}
	if i := slices.IndexFunc(rs, func(r store.Record) bool { return r.Holder != "" }); i >= 0 {
		f.Errorf("after all leases were closed: %+v", rs[i])
	}
}
