package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// The steps of a finder, in its order. Each returns node numbers that may be free.

// own is the block this lease held last, if its records still say so.
func (f *finder) own(ctx context.Context) ([]int64, error) {
	c := f.c
	if c.own == nil {
		return nil, nil
	}
	rs, err := c.st.Get(ctx, c.own)
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		if !c.mine(r) {
			return nil, nil
		}
	}
	return []int64{rs[0].Node}, nil
}

// sticky returns the nodes held last by the same label.
func (f *finder) sticky(ctx context.Context) ([]int64, error) {
	q := f.query()
	q.Label = f.c.opts.Label
	rs, err := f.c.st.List(ctx, q)
	slices.SortFunc(rs, func(a, b Record) int { return cmp.Compare(b.At, a.At) })
	return nodesOf(q, rs), err
}

// sample returns random nodes.
func (f *finder) sample(context.Context) ([]int64, error) {
	first, last := f.ns.First, f.ns.Last
	if last-first < sampled {
		var nodes []int64
		for n := first; n <= last; n++ {
			nodes = append(nodes, n)
		}
		world.Rand(f.c.world).Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		return nodes, nil
	}
	var nodes []int64
	choose := world.Rand(f.c.world)
	for range sampled {
		nodes = append(nodes, first+choose.Int64N(last-first+1))
	}
	return nodes, nil
}

// oldest returns the nodes whose grants ended first.
func (f *finder) oldest(ctx context.Context) ([]int64, error) {
	q := f.query()
	q.MaxUntil, q.ByUntil = max(f.now, 1), true
	rs, err := f.c.st.List(ctx, q)
	nodes := nodesOf(q, rs)
	// not everybody after the same one
	world.Rand(f.c.world).Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes, err
}

// vacant returns nodes that nobody holds, the lowest floors first.
func (f *finder) vacant(ctx context.Context) ([]int64, error) {
	q := f.query()
	q.Vacant, q.ByUntil = true, true
	rs, err := f.c.st.List(ctx, q)
	return nodesOf(q, rs), err
}

// gap finds a node without a record by counting, or free blocks by reading all.
func (f *finder) gap(ctx context.Context) ([]int64, error) {
	c := f.c
	lo, hi := f.ns.First, f.ns.Last
	if c.opts.Nodes == 1 {
		nodes, counted, err := f.missing(ctx)
		if err != nil || len(nodes) > 0 || counted && f.ns.Since == 1 {
			return nodes, err
		}
		// The lists are in the order of ticks, and those of an older layout stand anywhere.
	}
	taken := map[int64]bool{}
	for r, err := range f.records(ctx) {
		if err != nil {
			return nil, err
		}
		if f.unavailable(r) {
			taken[f.block(r.Node)] = true
		}
	}
	var nodes []int64
	for b := f.block(lo); b <= hi && len(nodes) < sampled; b += int64(c.opts.Nodes) {
		if !taken[b] && !f.seen[b] {
			nodes = append(nodes, b)
		}
	}
	return nodes, nil
}

// countedParts divides the nodes before they are counted. A store walks over what
// it counts: half of the parts on average. Halving would walk over all twice.
const countedParts = 32

// missing returns a node that has no record, if there is one and the store counts.
func (f *finder) missing(ctx context.Context) (nodes []int64, counted bool, err error) {
	size := max((f.ns.Last-f.ns.First)/countedParts+1, 1024)
	parts := (f.ns.Last-f.ns.First)/size + 1
	for _, i := range world.Rand(f.c.world).Perm(int(parts)) {
		lo := f.ns.First + int64(i)*size
		hi := min(lo+size-1, f.ns.Last)
		n, err := f.c.st.Count(ctx, f.c.name, snowfence.NodeRange{From: lo, Until: hi + 1})
		if err != nil || n < 0 {
			return nil, false, err
		}
		for n <= hi-lo { // fewer records than nodes
			if lo == hi {
				return []int64{lo}, true, nil
			}
			mid := lo + (hi-lo)/2
			left, err := f.c.st.Count(ctx, f.c.name, snowfence.NodeRange{From: lo, Until: mid + 1})
			switch {
			case err != nil || left < 0:
				return nil, false, err
			case left <= mid-lo:
				hi, n = mid, left
			default:
				lo, n = mid+1, n-left
			}
		}
	}
	return nil, true, nil
}

// A sticky file remembers across restarts which node a process held last. It is
// read before the search and written after an acquisition. It is only a hint, like
// the lists of a store: the node's record is read before it is offered, and the
// swap decides. So it is not synced.

const stickyForm = "snowfence sticky 1\nnamespace %s\nnode %d\n"

// remembered is the node that the sticky file names.
func (f *finder) remembered(context.Context) ([]int64, error) {
	c := f.c
	if c.opts.StickyFile == "" {
		return nil, nil
	}
	node, err := readSticky(c.opts.StickyFile, c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // the first start
	case err != nil:
		c.opts.Logger.Warn("sticky file ignored", "namespace", c.name, "file", c.opts.StickyFile, "cause", err)
		return nil, nil
	}
	return []int64{node}, nil
}

func readSticky(path, namespace string) (node int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var in string
	if _, err := fmt.Sscanf(string(data), stickyForm, &in, &node); err != nil ||
		fmt.Sprintf(stickyForm, in, node) != string(data) || node < 0 {
		return 0, errors.New("it is damaged, or no sticky file")
	}
	if in != namespace {
		return 0, fmt.Errorf("it is of namespace %q: use a file for each", in)
	}
	return node, nil
}

// remember writes the sticky file. That it cannot is no reason to be without a node.
func (c *claim) remember(node int64) {
	path := c.opts.StickyFile
	if path == "" {
		return
	}
	if err := writeSticky(path, fmt.Sprintf(stickyForm, c.name, node)); err != nil {
		c.opts.Logger.Warn("sticky file not written", "namespace", c.name, "file", path, "node", node, "cause", err)
	}
}

// writeSticky replaces the file in one step, so that a reader sees the old content or the new.
func writeSticky(path, text string) error {
	w, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	_, err = w.WriteString(text)
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.Rename(w.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(w.Name()))
	}
	return nil
}
