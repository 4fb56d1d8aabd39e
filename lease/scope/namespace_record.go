package scope

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// storedNamespace is the JSON in the record of a namespace.
type storedNamespace struct {
	*Namespace
	Format    int            `json:"format"`
	Layouts   []string       `json:"layouts"`
	Regions   []storedRegion `json:"regions"`
	TicketKey string         `json:"ticket_key,omitempty"`
	Ledger    ledger         `json:"ledger,omitzero"`
	Before    lowered        `json:"before,omitzero"`
	Moved     move.Moved     `json:"moved,omitzero"`
}

// readNamespace returns a namespace, and the answer that it came with, also
// with a [fault.ErrNoNamespace].
func readNamespace(ctx context.Context, st store.Store, name string) (Namespace, answer.Answer, error) {
	if err := fault.CheckName(name); err != nil {
		return Namespace{}, answer.Answer{}, err
	}
	rs, a, err := answer.Read(ctx, world.From(ctx), st, store.Key{Namespace: name, Node: store.NamespaceNode})
	if err != nil {
		return Namespace{}, a, fmt.Errorf("lease: reading namespace %q: %w", name, err)
	}
	ns, err := ReadNamespace(st, rs[0])
	return ns, a, err
}

// ReadNamespace returns the namespace of its record in a store.
func ReadNamespace(st store.Store, r store.Record) (Namespace, error) {
	if r.Nonce == "" {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w in this store: create it", r.Namespace,
			fault.ErrNoNamespace)
	}
	return store.Decoded(st, r, decodeNamespace)
}

func decodeNamespace(r store.Record) (Namespace, error) {
	ns := Namespace{Name: r.Namespace, Generation: r.Generation, record: r}
	stored := storedNamespace{Namespace: &ns}
	err := json.Unmarshal([]byte(r.Data), &stored)
	if why := stored.Moved.Err(); why != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", r.Namespace, why)
	}
	if stored.Format > store.Format { // whatever else it has
		return Namespace{}, fmt.Errorf("lease: namespace %q has the format %d, and this program knows formats up to "+
			"%d: stop this program, and start one of the version that the others have", ns.Name, stored.Format,
			store.Format)
	}
	if err == nil {
		ns.Regions, err = readRegions(stored.Layouts, stored.Regions)
	}
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: %w", store.Damaged(r.Key, err))
	}
	ns.ticketKey, ns.ledger, ns.before, ns.moved = stored.TicketKey, stored.Ledger, stored.Before, stored.Moved
	ns.Unit = max(ns.Unit, 1)
	ns.BackfillStopped = ns.Backfill > 0 && ns.ledger.Identity != ns.Identity
	return ns, nil
}

// write stores the namespace, and returns it as a reader finds it. The
// error is [store.ErrLost] if another process wrote it since it was read.
func (ns Namespace) write(ctx context.Context, st store.Store) (Namespace, error) {
	w, old := world.From(ctx), ns.record.Nonce
	nonce := w.Text()
	if old == "" {
		ns.moved.ID = nonce
	}
	r, err := ns.encode()
	if err != nil {
		return Namespace{}, err
	}
	r.Nonce, r.Revision, r.At = nonce, r.Revision+1, w.Now().UnixMilli()
	if _, err := store.Put(ctx, st, store.Write{Old: old, New: r}); err != nil {
		return Namespace{}, fmt.Errorf("lease: writing namespace %q: %w", ns.Name, err)
	}
	return decodeNamespace(r)
}

// encode returns the record with the namespace in it.
func (ns Namespace) encode() (store.Record, error) {
	layouts, regions := storedRegions(ns.Regions)
	data, err := json.Marshal(storedNamespace{
		&ns, store.Format, layouts, regions, ns.ticketKey, ns.ledger, ns.before, ns.moved,
	})
	if err != nil {
		return store.Record{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	r := ns.record
	r.Generation, r.Until, r.Data = ns.Generation, ns.Floor, string(data)
	return r, nil
}

// storedRegion is a region as a record keeps it: its layout is stored once.
type storedRegion struct {
	Owner     string     `json:"owner"`
	Layout    int        `json:"layout"` // index
	Key       string     `json:"key,omitempty"`
	Nodes     [2]int64   `json:"nodes"`   // half-open
	Numbers   [2]int64   `json:"numbers"` // both included
	Ticks     [2]int64   `json:"ticks"`   // half-open
	Ended     bool       `json:"ended,omitempty"`
	Functions *Functions `json:"functions,omitempty"`
}

func storedRegions(rs []Region) (layouts []string, stored []storedRegion) {
	for _, r := range rs {
		spec := r.Layout.String()
		i := slices.Index(layouts, spec)
		if i < 0 {
			i, layouts = len(layouts), append(layouts, spec)
		}
		stored = append(stored, storedRegion{
			r.Owner, i, r.Key,
			[2]int64{r.Nodes.From, r.Nodes.Until},
			[2]int64{r.First, r.Last},
			[2]int64{r.From, r.Until},
			r.Ended, r.Functions,
		})
	}
	return layouts, stored
}

func readRegions(specs []string, stored []storedRegion) ([]Region, error) {
	layouts := make([]snowfence.Layout, len(specs))
	for i, spec := range specs {
		var err error
		if layouts[i], err = snowfence.ParseLayout(spec); err != nil {
			return nil, err
		}
	}
	var out []Region
	for _, s := range stored {
		if s.Layout < 0 || s.Layout >= len(layouts) {
			return nil, fmt.Errorf("a region has the layout %d of %d", s.Layout, len(layouts))
		}
		out = append(out, Region{
			Region: snowfence.Region{
				Layout: layouts[s.Layout], Key: s.Key, Nodes: snowfence.NodeRange{From: s.Nodes[0], Until: s.Nodes[1]},
				First: s.Numbers[0], Last: s.Numbers[1], From: s.Ticks[0], Until: s.Ticks[1],
			},
			Owner: s.Owner, Ended: s.Ended, Functions: s.Functions,
		})
	}
	return out, nil
}
