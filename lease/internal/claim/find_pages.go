package claim

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// pageRecords is how many records are read in one go when all are read.
const pageRecords = 4096

// ranked is a block that is free, as a list says.
type ranked struct {
	first int64
	rank
}

func firsts(blocks []ranked) []int64 {
	out := make([]int64, len(blocks))
	for i, b := range blocks {
		out[i] = b.first
	}
	return out
}

// pages lists all records, from a random block on, and yields the free
// blocks of each page, the best first. In all it yields at most n that were
// never leased. When all are listed, the claim knows the holders.
func (f *finder) pages(ctx context.Context, n int) iter.Seq2[[]ranked, error] {
	return func(yield func([]ranked, error) bool) {
		c := f.c
		start, count := f.whole()
		if count > 0 {
			start += world.Rand(c.World).Int64N(count) * int64(c.Nodes)
		}
		who := tally{labels: map[string]int{}}
		limit := max(pageRecords, c.perBlock())
		for _, nodes := range []snowfence.NodeRange{
			{From: start, Until: f.ns.Nodes.Until},
			{From: f.ns.Nodes.From, Until: start},
		} {
			for nodes.From < nodes.Until {
				rs, _, err := c.st.List(ctx, c.Name, nodes, limit)
				if err != nil {
					yield(nil, fmt.Errorf("lease: looking for a free node in namespace %q: %w", c.Name, err))
					return
				}
				next := nodes.Until
				if len(rs) >= limit { // with its last block perhaps in part
					next = min(next, max(f.block(rs[len(rs)-1].Node+1), nodes.From+1))
				}
				rs = slices.DeleteFunc(rs, func(r store.Record) bool {
					return r.Node >= next || r.Node%f.c.unit != 0
				})
				for _, r := range rs {
					who.count(f, r)
				}
				blocks := f.listed(rs, snowfence.NodeRange{From: nodes.From, Until: next}, &n)
				if !yield(blocks, nil) {
					return
				}
				nodes.From = next
			}
		}
		c.taken = who.error(f)
	}
}

// block returns the first node of the block around a node.
func (f *finder) block(node int64) int64 { return node &^ (int64(f.c.Nodes) - 1) }

// whole returns the first node of the first whole block, and how many there
// are.
func (f *finder) whole() (first, count int64) {
	k := int64(f.c.Nodes)
	first = f.block(f.ns.Nodes.From + k - 1)
	return first, max(f.block(f.ns.Nodes.Until)-first, 0) / k
}

// listed returns the free blocks among nodes with these records, and up to
// n without any.
func (f *finder) listed(rs []store.Record, nodes snowfence.NodeRange, n *int) []ranked {
	k := int64(f.c.Nodes)
	first, count := f.whole()
	b, end := max(f.block(nodes.From+k-1), first), min(nodes.Until, first+count*k)
	var out []ranked
	add := func(b int64, rs []store.Record) {
		if !f.seen[b] && !slices.ContainsFunc(rs, f.unavailable) {
			out = append(out, ranked{b, f.rank(rs)})
		}
	}
	for b < end {
		for len(rs) > 0 && rs[0].Node < b {
			rs = rs[1:] // of a block that is not whole
		}
		until := end // of blocks without records
		if len(rs) > 0 {
			until = min(end, f.block(rs[0].Node))
		}
		for ; b < until && *n > 0; b += k {
			before := len(out)
			add(b, nil)
			*n -= len(out) - before
		}
		if b = until; b < end {
			size := 0
			for size < len(rs) && rs[size].Node < b+k {
				size++
			}
			add(b, rs[:size])
			b += k
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return a.compare(b.rank) })
	return out
}

// rank orders free blocks. First come the label's own last blocks, the
// latest first. Then come the blocks that are free for longest, and last
// those with a floor ahead.
type rank struct{ class, order int64 }

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.class, o.class), cmp.Compare(r.order, o.order))
}

func (f *finder) rank(rs []store.Record) rank {
	var last int64
	labelled := false
	for _, r := range rs {
		last = max(last, f.ns.FloorOf(r))
		labelled = labelled || r.Label == f.c.Label
	}
	switch ahead := f.ahead(rs); {
	case ahead > 0:
		return rank{2, ahead}
	case labelled:
		return rank{0, -last}
	}
	return rank{1, last}
}

// ahead returns by how many ticks the floor of a block is ahead; 0 if it is
// not, or is this lease's own.
func (f *finder) ahead(rs []store.Record) (n int64) {
	for _, r := range rs {
		if !f.c.mine(r) {
			n = max(n, f.ns.FloorOf(r)-max(f.now, f.ns.Floor))
		}
	}
	return n
}

// unavailable reports whether a node cannot be leased now. A floor more
// than one ttl ahead makes a node unavailable, too.
func (f *finder) unavailable(r store.Record) bool {
	if r.Veto != "" {
		return true
	}
	if r.Generation < f.ns.Since || f.c.mine(r) { // one that was never leased has generation 0
		return false
	}
	target := f.c.Ticks.Target(f.c.Ticks.Layout.TimeOf(f.now))
	return r.Held(f.now) || r.Until > target && f.ns.FloorOf(r) > f.ns.Floor
}
