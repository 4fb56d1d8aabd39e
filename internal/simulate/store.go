package simulate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	seam "github.com/snowfence/snowfence/lease/store"
)

// store is the data behind all links: linearizable and durable, except when the
// simulation rolls it back.
type store struct {
	records  map[lease.Key]lease.Record
	identity int
	clock    bool // it has a time of its own, the true one
	down     time.Duration
	backup   map[lease.Key]lease.Record
	adds     bool // it can add; else programs swap

	// equal compares the stored nonce with the one a swap expects. Only tests of the
	// simulation set another: a store that does not compare.
	equal func(stored, expected string) bool
}

func newStore(clock bool) *store {
	return &store{records: map[lease.Key]lease.Record{}, clock: clock, equal: func(a, b string) bool { return a == b }}
}

func (st *store) get(keys []lease.Key) []lease.Record {
	out := make([]lease.Record, len(keys))
	for i, k := range keys {
		out[i] = st.records[k]
		out[i].Key = k
	}
	return out
}

func (st *store) list(namespace string, nodes snowfence.NodeRange, limit int) []lease.Record {
	out := st.all(func(k lease.Key) bool {
		return k.Namespace == namespace && k.Node >= nodes.From && k.Node < nodes.Until
	})
	return out[:min(len(out), limit)]
}

// nodes returns the records of all nodes that leases have.
func (st *store) nodes() []lease.Record {
	return st.list(namespace, snowfence.NodeRange{Until: math.MaxInt64}, math.MaxInt)
}

func (st *store) heads() []lease.Record {
	return st.all(func(k lease.Key) bool { return k.Node == plain || k.Node == lease.NamespaceNode })
}

// all returns the records that match, in the order of their keys.
func (st *store) all(match func(lease.Key) bool) []lease.Record {
	var out []lease.Record
	for k, r := range st.records {
		if match(k) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b lease.Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return out
}

func (st *store) swap(w lease.Write) error {
	if !st.equal(st.records[w.New.Key].Nonce, w.Old) {
		return lease.ErrLost
	}
	st.records[w.New.Key] = w.New
	return nil
}

// add carries out an addition: the simulation's own account of what lease.Store promises.
func (st *store) add(a seam.Addition) (lease.Record, error) {
	r := st.records[a.Key]
	if r.Nonce == "" || r.Generation != a.Generation {
		return lease.Record{}, lease.ErrLost
	}
	r.Nonce, r.Revision, r.PrevUntil = a.NonceAt(r.Revision+1), r.Revision+1, r.From
	if a.Limit > r.From {
		r.From += min(a.N, a.Limit-r.From)
	}
	st.records[a.Key] = r
	return r, nil
}

func (st *store) name() string { return "store " + strconv.Itoa(st.identity) }

// save takes a backup, and restore goes back to it.
func (st *store) save() { st.backup = maps.Clone(st.records) }

func (st *store) restore() { st.records = maps.Clone(st.backup) }
