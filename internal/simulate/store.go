package simulate

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
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

func (st *store) list(q lease.Query) []lease.Record {
	var out []lease.Record
	for _, r := range st.records {
		if q.Match(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, q.Compare)
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
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
func (st *store) add(a lease.Addition) (lease.Record, error) {
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

func (st *store) count(namespace string, nodes snowfence.NodeRange) int64 {
	return int64(len(st.list(lease.Query{Namespace: namespace, Nodes: nodes})))
}

func (st *store) name() string { return "store " + strconv.Itoa(st.identity) }

// save takes a backup, and restore goes back to it.
func (st *store) save() { st.backup = maps.Clone(st.records) }

func (st *store) restore() { st.records = maps.Clone(st.backup) }
