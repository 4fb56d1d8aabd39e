package simulate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// medium is the data behind all links: linearizable and durable, except
// when the simulation rolls it back.
type medium struct {
	records  map[store.Key]store.Record
	identity int
	hasLost  bool // it lost a write after it got its identity
	clock    bool // it has a time of its own, the true one
	down     time.Duration
	backup   map[store.Key]store.Record
	adds     bool // it can add; else programs swap
	apart    bool // it tells its identity in an answer of its own
	rides    bool // it reads in the round trip of a write

	// equal compares the stored nonce with the one a swap expects. Only
	// tests of the simulation set another: a store that does not compare.
	equal func(stored, expected string) bool
}

func newStore() *medium {
	return &medium{records: map[store.Key]store.Record{}, equal: func(a, b string) bool { return a == b }}
}

func (st *medium) get(keys []store.Key) []store.Record {
	out := make([]store.Record, len(keys))
	for i, k := range keys {
		out[i] = st.records[k]
		out[i].Key = k
	}
	return out
}

// nodeRecords returns the records of all nodes that leases have.
func (st *medium) nodeRecords() []store.Record {
	return st.list(namespace, snowfence.NodeRange{Until: math.MaxInt64}, math.MaxInt)
}

func (st *medium) list(namespace string, nodes snowfence.NodeRange, limit int) []store.Record {
	out := st.recordsThat(func(k store.Key) bool {
		return k.Namespace == namespace && k.Node >= nodes.From && k.Node < nodes.Until
	})
	return out[:min(len(out), limit)]
}

func (st *medium) heads() []store.Record {
	return st.recordsThat(func(k store.Key) bool { return k.Node == plain || k.Node == store.NamespaceNode })
}

// recordsThat returns the records that match, in the order of their keys.
func (st *medium) recordsThat(match func(store.Key) bool) []store.Record {
	var out []store.Record
	for k, r := range st.records {
		if match(k) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return out
}

func (st *medium) swap(w store.Write) error {
	if !st.equal(st.records[w.New.Key].Nonce, w.Old) {
		return store.ErrLost
	}
	st.records[w.New.Key] = w.New
	return nil
}

// add carries out an addition: the simulation's own account of what
// store.Store promises.
func (st *medium) add(a store.Addition) (store.Record, error) {
	r := st.records[a.Key]
	if r.Nonce == "" || r.Generation != a.Generation {
		return store.Record{}, store.ErrLost
	}
	r.Nonce, r.Revision, r.PrevUntil = a.NonceAt(r.Revision+1), r.Revision+1, r.From
	if a.Limit > r.From {
		r.From += min(a.N, a.Limit-r.From)
	}
	st.records[a.Key] = r
	return r, nil
}

// changeIdentity gives the store another identity.
func (st *medium) changeIdentity() { st.identity, st.hasLost = st.identity+1, false }

func (st *medium) name() string { return "store " + strconv.Itoa(st.identity) }

// takeBackup takes a backup, and restore goes back to it.
func (st *medium) takeBackup() { st.backup = maps.Clone(st.records) }

func (st *medium) putBackupBack() { st.records, st.hasLost = maps.Clone(st.backup), true }
