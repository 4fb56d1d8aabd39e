package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Holders is for servers. It returns a store for holders in programs elsewhere,
// who may have leases, but not the rest of the store. Leases work over it as over
// any other store. It refuses what no [Lease] does, with an error that matches
// [ErrRefused].
//
// Only the server writes a namespace. A holder can only ask it to look: whether
// the store is still the one that the namespace was made in, whether it lost a
// record that the server itself showed and signed, and whether a ttl is longer
// than any before. The server reads its own store and its own clock, and writes
// the namespace if it must. It believes nothing else that a holder says.
//
// Each write of a node's record shows whose it is, by a secret that is not stored.
// A holder writes only in its own name: it takes a node, renews it, and lowers the
// end of its own grant. So it cannot make a duplicate of anybody else's ID. It can
// take their nodes, which ends their grants early. It can keep a node from others
// for one and a half times the longest ttl and skew after its last write.
//
// A [Ticket] is released over the store itself, because its
// holder cannot prove here that the end may be lowered.
//
// Swap first reads the records that it replaces, which is one more
// round trip. now is the clock of the server; nil means the system's.
func Holders(st Store, now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &holders{st, now}
}

// holders passes Count, Identity, Now and Pin on, because they
// write nothing and show no record. Count tells no more than
// List, and Pin keeps open only what notices a replaced store.
type holders struct {
	Store
	now func() time.Time
}

// Get implements [Store]. It signs the records of nodes, and never shows the key.
func (h *holders) Get(ctx context.Context, keys []Key) ([]Record, error) {
	all := slices.Clone(keys)
	at := map[string]int{} // of the records of namespaces
	for i, k := range keys {
		if k.Node == NamespaceNode {
			at[k.Namespace] = i
		}
	}
	for _, k := range keys {
		if _, ok := at[k.Namespace]; !ok {
			at[k.Namespace] = len(all)
			all = append(all, Key{Namespace: k.Namespace, Node: NamespaceNode})
		}
	}
	rs, err := h.Store.Get(ctx, all)
	if err != nil {
		return nil, err
	}
	spaces := map[string]Namespace{}
	for name, i := range at {
		if rs[i].Nonce == "" {
			continue
		}
		ns, err := h.signing(ctx, rs[i])
		if err != nil {
			return nil, err
		}
		spaces[name] = ns
		if rs[i], err = ns.shown(); err != nil {
			return nil, err
		}
	}
	rs = rs[:len(keys)]
	for i, r := range rs {
		switch {
		case hidden(r):
			rs[i] = Record{Key: r.Key}
		case r.Node == NamespaceNode:
			rs[i] = rs[at[r.Namespace]] // a key may be asked for twice
		default:
			rs[i].Data = evidenceOf(r).sign(spaces[r.Namespace])
		}
	}
	return rs, nil
}

// List implements [Store].
func (h *holders) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]Record, error) {
	rs, err := h.Store.List(ctx, namespace, nodes, limit)
	return h.shown(rs, err)
}

// Heads implements [Store].
func (h *holders) Heads(ctx context.Context) ([]Record, error) { return h.shown(h.Store.Heads(ctx)) }

func (h *holders) shown(rs []Record, err error) ([]Record, error) {
	if err != nil {
		return nil, err
	}
	rs = slices.DeleteFunc(rs, hidden)
	for i, r := range rs {
		rs[i].Data = ""
		if r.Node == NamespaceNode {
			ns, err := namespaceOf(h.Store, r)
			if err != nil {
				return nil, err
			}
			if rs[i], err = ns.shown(); err != nil {
				return nil, err
			}
		}
	}
	return rs, nil
}

// Swap implements [Store].
func (h *holders) Swap(ctx context.Context, writes []Write) []error {
	if err := store.Distinct(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	var keys []Key
	rulesOf := map[string]*rules{}
	for _, w := range writes {
		keys = append(keys, w.New.Key)
		rulesOf[w.New.Namespace] = nil
	}
	for name := range rulesOf {
		if k := (Key{Namespace: name, Node: NamespaceNode}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	stored, err := h.Store.Get(ctx, keys)
	if err != nil {
		err = fmt.Errorf("lease: reading what the write replaces: %w", err)
		return slices.Repeat([]error{err}, len(writes))
	}
	for _, r := range stored {
		if r.Node == NamespaceNode {
			rulesOf[r.Namespace] = h.rules(r)
		}
	}
	errs := make([]error, len(writes))
	var good []Write
	var index []int
	for i, w := range writes {
		if w.New.Node == NamespaceNode {
			continue
		}
		if errs[i] = rulesOf[w.New.Namespace].check(stored[i], w); errs[i] == nil {
			w.New.Data, w.New.At = stored[i].Data, h.now().UnixMilli()
			good, index = append(good, w), append(index, i)
		}
	}
	if len(good) > 0 {
		for j, err := range h.Store.Swap(ctx, good) {
			errs[index[j]] = err
		}
	}
	for i, w := range writes {
		if w.New.Node == NamespaceNode {
			errs[i] = h.answer(ctx, w)
		}
	}
	return errs
}

// Add implements [Store]. No lease adds.
func (h *holders) Add(_ context.Context, a store.Addition) (Record, error) {
	return Record{}, marked{fmt.Errorf("lease: node %d of namespace %q: a count is raised by its server alone",
		a.Key.Node, a.Key.Namespace), ErrRefused}
}

// hidden reports whether no holder sees a record: that of a sequence, or counts of [Past].
func hidden(r Record) bool { return strings.HasPrefix(r.Namespace, "#") || r.Node <= -1<<48 }

// question is what a holder over a server ([Holders])
// writes in place of a namespace's record: it asks the
// server to look at the namespace. None of it is stored.
type question struct {
	Reach time.Duration `json:"reach"`          // the ttl and the allowed skew of the lease, together
	Gone  []evidence    `json:"gone,omitempty"` // what the holder was shown, and what the store may have lost since
}

// evidence is what the server showed of a node's record, and signed.
type evidence struct {
	Node       int64  `json:"node"`
	Nonce      string `json:"nonce"`
	Revision   int64  `json:"revision"`
	Generation int64  `json:"generation"`
	Until      int64  `json:"until"`
	MAC        string `json:"mac"`
}

// asked is a question as the data of a namespace's record.
type asked struct {
	Question *question `json:"question"`
}

// signing returns the namespace of a record with the key that signs
// its records. A namespace from before there were keys gets one now.
func (h *holders) signing(ctx context.Context, r Record) (Namespace, error) {
	ns, err := namespaceOf(h.Store, r)
	for ns.ticketKey == "" && ns.State == Active { // what cannot be read has no state
		ns.ticketKey = world.From(ctx).Text()
		if ns, err = ns.write(ctx, h.Store); errors.Is(err, ErrLost) {
			ns, err = readNamespace(ctx, h.Store, r.Namespace)
		}
	}
	return ns, err
}

// shown returns the record of a namespace as holders see it, without the key that signs.
func (ns Namespace) shown() (Record, error) {
	data, err := json.Marshal(storedNamespace{Namespace: &ns, Watched: true})
	if err != nil {
		return Record{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	r := ns.record
	r.Data = string(data)
	return r, nil
}

// evidenceOf returns what a record can prove.
func evidenceOf(r Record) evidence {
	return evidence{Node: r.Node, Nonce: r.Nonce, Revision: r.Revision, Generation: r.Generation, Until: r.Until}
}

// sign returns the MAC of what is shown of a record:
// HMAC-SHA-256, as JSON. The ticks are those of the layout. It
// is "" without a key, and for a record that does not exist.
func (e evidence) sign(ns Namespace) string {
	e.MAC = ""
	data, err := json.Marshal(struct {
		Shown     evidence `json:"shown"` // no ticket begins like this
		Namespace string   `json:"namespace"`
		Layout    string   `json:"layout"`
	}{e, ns.Name, ns.Layout})
	if ns.ticketKey == "" || e.Nonce == "" || err != nil {
		return ""
	}
	m := hmac.New(sha256.New, []byte(ns.ticketKey))
	m.Write(data)
	return hex.EncodeToString(m.Sum(nil))
}
