package lease

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// sampled is how many nodes are looked at in one go, at random or from the head of a list.
const sampled = 32

// finder finds free nodes. Lists are hints: each block is read again, and the swap decides.
type finder struct {
	c     *claim
	ns    Namespace // with the leasable nodes narrowed to those this lease may have
	now   int64
	seen  map[int64]bool // blocks offered or found taken, by first node
	check error          // what Options.Check said last
}

// candidates yields the records of free blocks, step by step. An error ends the sequence.
func (f *finder) candidates(ctx context.Context) iter.Seq2[[]Record, error] {
	c := f.c
	f.seen = map[int64]bool{}
	const (
		never = 0 // only nodes that were never leased
		now   = 1 // only nodes whose floor is not ahead
		later = 1 << 62
	)
	steps := []struct {
		nodes func(context.Context) ([]int64, error)
		wait  int64
	}{
		{f.own, later},
		{f.remembered, now},
		{f.sticky, now},
		{f.sample, never},
		{f.oldest, now},
		{f.vacant, later},
		{f.gap, later},
	}
	if c.offers != nil {
		steps = steps[:1]
		steps[0].nodes = f.offered
	}
	return func(yield func([]Record, error) bool) {
		for _, step := range steps {
			nodes, err := step.nodes(ctx)
			if err != nil {
				yield(nil, fmt.Errorf("lease: looking for a free node in namespace %q: %w", c.name, err))
				return
			}
			blocks, err := f.free(ctx, nodes, step.wait)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rs := range blocks {
				if !f.allowed(ctx, rs[0].Node) {
					continue
				}
				if !yield(rs, nil) {
					return
				}
			}
		}
	}
}

func (f *finder) query() Query {
	return Query{Namespace: f.c.name, Nodes: f.ns.leasable(), Limit: sampled}
}

func nodesOf(q Query, rs []Record) []int64 {
	var nodes []int64
	for _, r := range rs {
		if q.Match(r) {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

// block returns the first node of the block around a node.
func (f *finder) block(node int64) int64 { return node &^ (int64(f.c.opts.Nodes) - 1) }

// free returns the records of free blocks around the nodes that rank at most as wait,
// the soonest first and none twice.
func (f *finder) free(ctx context.Context, nodes []int64, wait int64) ([][]Record, error) {
	c, k := f.c, int64(f.c.opts.Nodes)
	var ks []Key
	asked := map[int64]bool{}
	for _, n := range nodes {
		b := f.block(n)
		if f.seen[b] || asked[b] || b < f.ns.First || b+k-1 > f.ns.Last ||
			int64(len(ks)) >= max(2*sampled, min(sampled*k, paged), k) {
			continue
		}
		asked[b] = true
		ks = append(ks, blockKeys(c.name, b, c.opts.Nodes)...)
	}
	if len(ks) == 0 {
		return nil, nil
	}
	rs, err := c.st.Get(ctx, ks)
	if err != nil {
		return nil, fmt.Errorf("lease: reading nodes of namespace %q: %w", c.name, err)
	}
	var blocks [][]Record
	for b := range slices.Chunk(rs, int(k)) {
		if slices.ContainsFunc(b, f.unavailable) {
			f.seen[b[0].Node] = true
		} else if f.wait(b) <= wait {
			f.seen[b[0].Node] = true
			blocks = append(blocks, b)
		}
	}
	slices.SortStableFunc(blocks, func(a, b []Record) int { return cmp.Compare(f.wait(a), f.wait(b)) })
	return blocks, nil
}

// wait ranks a block: 0 if it was never leased, 1 if its floor is not ahead,
// and otherwise by how far it is ahead.
func (f *finder) wait(rs []Record) int64 {
	var w int64
	for _, r := range rs {
		if r.Nonce != "" {
			w = max(w, 1, 1+floor(f.ns, r)-max(f.now, f.ns.Floor))
		}
	}
	return w
}

// unavailable reports whether a node cannot be leased now. A floor more than one
// lease ahead makes a node unavailable too.
func (f *finder) unavailable(r Record) bool {
	if r.Veto != "" {
		return true
	}
	if r.Generation < f.ns.Since || f.c.mine(r) { // one that was never leased has generation 0
		return false
	}
	return r.Held(f.now) || r.Until > f.c.ticks.target(f.c.ticks.layout.TimeOf(f.now)) && floor(f.ns, r) > f.ns.Floor
}

// allowed asks Options.Check about a node, once in a lease's life if it refuses.
func (f *finder) allowed(ctx context.Context, node int64) bool {
	c := f.c
	if c.opts.Check == nil {
		return true
	}
	err := c.refused[node]
	if err == nil {
		if err = c.opts.Check(ctx, node); err != nil && ctx.Err() == nil {
			c.refused[node] = err
		}
	}
	if err != nil {
		f.check = err
	}
	return err == nil
}

// records reads all records of the leasable nodes.
func (f *finder) records(ctx context.Context) iter.Seq2[Record, error] {
	return Records(ctx, f.c.st, Query{Namespace: f.c.name, Nodes: f.ns.leasable()})
}

func blockKeys(namespace string, first int64, n int) []Key {
	ks := make([]Key, n)
	for i := range ks {
		ks[i] = Key{namespace, first + int64(i)}
	}
	return ks
}

// within narrows the leasable nodes to those that Options.Within allows.
func (c *claim) within(ns Namespace) (Namespace, error) {
	w := c.opts.Within
	if w == (snowfence.NodeRange{}) {
		return ns, nil
	}
	first, last := max(ns.First, w.From), min(ns.Last, w.Until-1)
	if k := int64(c.opts.Nodes); last-first+1 < k {
		return ns, fmt.Errorf("lease: namespace %q can lease the nodes %d to %d, "+
			"and fewer than %d of them are in %d to %d, as Options.Within asks: make more leasable, or ask for others",
			c.name, ns.First, ns.Last, k, w.From, w.Until-1)
	}
	ns.First, ns.Last = first, last
	return ns, nil
}

// taken returns the error that says who has the nodes.
func (f *finder) taken(ctx context.Context) error {
	c := f.c
	e := &TakenError{
		Namespace: c.name, Nodes: f.ns.leasable(), Block: c.opts.Nodes,
		Within: c.opts.Within, Refused: int64(len(c.refused)), Cause: f.check,
	}
	labels := map[string]int{}
	next := int64(-1)
	for r, err := range f.records(ctx) {
		switch {
		case err != nil:
			return fmt.Errorf("lease: no node of namespace %q is free, and who holds them cannot be read: %w",
				c.name, err)
		case c.refused[r.Node] != nil: // counted already
		case r.Veto != "":
			e.Refused++
		case r.Held(f.now) && r.Generation >= f.ns.Since:
			e.Held++
			labels[r.Label]++
			fallthrough
		case r.Until > f.now:
			if next < 0 || r.Until < next {
				next = r.Until
			}
		}
	}
	for _, label := range slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(labels[b], labels[a]), cmp.Compare(a, b))
	})[:min(maxLabels, len(labels))] {
		e.Labels = append(e.Labels, LabelCount{label, labels[label]})
	}
	if next > f.now {
		e.NextFree = min(c.ticks.layout.TimeOf(next).Sub(c.ticks.layout.TimeOf(f.now)), 24*time.Hour)
	}
	return e
}
