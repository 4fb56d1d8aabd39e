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
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// Holders is for servers: it returns a store for holders who are trusted with leases but not with
// the rest of the store, which a server hands to programs elsewhere. Leases work over it
// as over any other store. What no [Lease] does is refused, with an error that matches
// [ErrRefused].
//
// A namespace is the server's alone. A holder can only ask it to look: whether the store is still
// the one that the namespace was made in, whether it lost a record that the server itself had shown
// and signed, and whether a ttl is longer than any before. The server reads its own store and its
// own clock, and writes the namespace if it has to. It takes no other word for anything.
//
// Each write of a node's record shows whose it is, by a secret that is not stored. A holder writes
// in nobody else's name: it takes a node, renews it, and lowers the end of what it was granted
// itself. So it cannot make a duplicate of what others make. It can take their nodes, which ends
// their grants early, and keep a node from others for one and a half times the longest ttl and skew
// after its last write.
//
// A [Ticket] is released over the store itself: its holder cannot prove here that the end may be
// lowered.
//
// Swap reads what it is to replace first, which is one round trip more. now is the server's clock;
// nil means the system's.
func Holders(st Store, now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &holders{st, now}
}

// holders passes Count, Identity, Now and Pin on, which write nothing and show no record:
// Count says no more than the length of what List shows, and Pin keeps open only what
// notices a replaced store.
type holders struct {
	Store
	now func() time.Time
}

// Get implements [Store]. What it shows of a node is signed, and nothing that signs is shown.
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
			all = append(all, Key{k.Namespace, NamespaceNode})
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
		if r.Node != NamespaceNode {
			rs[i].Data = evidenceOf(r).sign(spaces[r.Namespace])
		}
	}
	return rs, nil
}

// List implements [Store].
func (h *holders) List(ctx context.Context, q Query) ([]Record, error) {
	rs, err := h.Store.List(ctx, q)
	if err != nil {
		return nil, err
	}
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
	if err := Distinct(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	var keys []Key
	rulesOf := map[string]*rules{}
	for _, w := range writes {
		keys = append(keys, w.New.Key)
		rulesOf[w.New.Namespace] = nil
	}
	for name := range rulesOf {
		if k := (Key{name, NamespaceNode}); !slices.Contains(keys, k) {
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

// question is what a holder writes in place of a namespace's record, over a server that keeps the
// store ([Holders]): it asks the server to look at the namespace itself. None of it is stored.
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

// signing returns the namespace of a record with the key that signs what is shown of it. One that
// was made before there was such a key gets it now.
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

// sign returns the MAC of what is shown of a record: HMAC-SHA-256, as JSON. The ticks are those of
// the layout. It is "" where there is no key, and for a record that does not exist.
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
