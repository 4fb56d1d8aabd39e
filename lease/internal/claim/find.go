package claim

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// finder finds free blocks. Lists are hints: each block is read again, and
// the swap decides.
type finder struct {
	c    *storeClaim
	ns   scope.Namespace // with the leasable nodes narrowed to those this lease may have
	now  int64
	seen map[int64]bool // blocks offered or found taken, by first node
}

const (
	probeBlocks  = 64   // blocks that a probe reads
	probeRecords = 1024 // records that it reads, unless one block has more
	labelShare   = 4    // of so many of its blocks, one is the label's
)

// candidates yields the records of free blocks, until one is taken: the
// block held last, the preferred one, the best of a probe, and then any. A
// lease that waits for one of many nodes looks at all once a ttl. An error
// ends the sequence.
func (f *finder) candidates(ctx context.Context) iter.Seq2[[]store.Record, error] {
	return func(yield func([]store.Record, error) bool) {
		c := f.c
		f.seen = map[int64]bool{}
		if !f.offer(ctx, f.own(), false, yield) || !f.offer(ctx, c.wishes, false, yield) ||
			!f.offer(ctx, f.probe(), true, yield) {
			return
		}
		if f.scannedLately() {
			c.taken.NextFree = 0 // not known any more
			return
		}
		c.taken, c.scanTime = nil, c.World.Now()
		for blocks, err := range f.pages(ctx, probeBlocks) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !f.offer(ctx, firsts(blocks[:min(len(blocks), f.readable())]), true, yield) {
				return
			}
		}
	}
}

// scannedLately reports whether all records were read less than a ttl ago,
// and no node was free. Up to 1,024 nodes are all read each time.
func (f *finder) scannedLately() bool {
	c := f.c
	return c.taken != nil && f.ns.Nodes.Until-f.ns.Nodes.From > probeRecords && c.World.Now().Sub(c.scanTime) < c.TTL
}

// readable is how many blocks are read in one go.
func (f *finder) readable() int { return min(max(probeRecords/f.c.perBlock(), 1), probeBlocks) }

// offer reads blocks and yields the best free one: with ahead also one with
// a floor ahead. If others were faster to take it, it reads the rest again.
// It reports whether to look further.
func (f *finder) offer(ctx context.Context, nodes []int64, ahead bool, yield func([]store.Record, error) bool) bool {
	for {
		blocks, err := f.free(ctx, nodes, ahead)
		switch {
		case err != nil:
			yield(nil, err)
			return false
		case len(blocks) == 0:
			return true
		}
		f.seen[blocks[0][0].Node] = true
		if !yield(blocks[0], nil) {
			return false
		}
	}
}

// own is the block that this lease held last.
func (f *finder) own() []int64 {
	if f.c.lastBlock == nil {
		return nil
	}
	return []int64{f.c.lastBlock[0].Node}
}

// probe returns blocks that the label points to, in any order, and then
// random ones. So a label finds its nodes again, and programs of one label
// do not all want the same one. The random ID of the namespace has a part
// in it: machines that have a store each often have one label, and are then
// as far apart as if they had chosen at random.
func (f *finder) probe() []int64 {
	first, count := f.whole()
	if count == 0 {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(f.ns.ID() + f.c.Label))
	at := int64(h.Sum64() % uint64(count))
	n := int64(f.readable())
	near := min((n+labelShare-1)/labelShare, count)
	choose := world.Rand(f.c.World)
	var nodes []int64
	add := func(i int64) { nodes = append(nodes, first+i%count*int64(f.c.Nodes)) }
	for _, i := range choose.Perm(int(near)) {
		add(at + int64(i))
	}
	if count <= n {
		for _, i := range choose.Perm(int(count - near)) {
			add(at + near + int64(i))
		}
		return nodes
	}
	for range n - near {
		add(choose.Int64N(count))
	}
	return nodes
}

// free returns the free blocks around the nodes, with ahead also those with
// a floor ahead: the best first, none twice.
func (f *finder) free(ctx context.Context, nodes []int64, ahead bool) ([][]store.Record, error) {
	c, k := f.c, int64(f.c.Nodes)
	var ks []store.Key
	asked := map[int64]bool{}
	for _, n := range nodes {
		b := f.block(n)
		if f.seen[b] || asked[b] || b < f.ns.Nodes.From || b+k > f.ns.Nodes.Until {
			continue
		}
		asked[b] = true
		ks = append(ks, c.blockKeys(b)...)
	}
	if len(ks) == 0 {
		return nil, nil
	}
	rs, _, err := c.st.Get(ctx, ks)
	if err != nil {
		return nil, fmt.Errorf("lease: reading nodes of namespace %q: %w", c.Name, err)
	}
	var blocks [][]store.Record
	for b := range slices.Chunk(rs, c.perBlock()) {
		if slices.ContainsFunc(b, f.unavailable) {
			f.seen[b[0].Node] = true
		} else if ahead || f.ahead(b) == 0 {
			blocks = append(blocks, b)
		}
	}
	slices.SortStableFunc(blocks, func(a, b []store.Record) int { return f.rank(a).compare(f.rank(b)) })
	return blocks, nil
}

func (c *storeClaim) blockKeys(first int64) []store.Key {
	return blockKeys(c.Name, first, c.Nodes, c.unit)
}

// blockKeys returns the keys of the units from first on that n nodes are.
func blockKeys(namespace string, first int64, n int, unit int64) []store.Key {
	ks := make([]store.Key, n/int(unit))
	for i := range ks {
		ks[i] = store.Key{Namespace: namespace, Node: first + int64(i)*unit}
	}
	return ks
}

// within narrows the leasable nodes to those that Options.Within allows.
func (c *storeClaim) within(ns scope.Namespace) (scope.Namespace, error) {
	w := c.Within
	if w == (snowfence.NodeRange{}) {
		return ns, nil
	}
	among := snowfence.NodeRange{From: max(ns.Nodes.From, w.From), Until: min(ns.Nodes.Until, w.Until)}
	if k := int64(c.Nodes); among.Until-among.From < k {
		return ns, fault.Invalidf("lease: namespace %q can lease the nodes %d to %d, "+
			"and fewer than %d of them are in %d to %d, as Options.Within asks: make more leasable, or ask for others",
			c.Name, ns.Nodes.From, ns.Nodes.Until-1, k, w.From, w.Until-1)
	}
	ns.Nodes = among
	return ns, nil
}
