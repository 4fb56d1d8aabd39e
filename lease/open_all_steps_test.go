package lease

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// crowd is a store for many leases. It counts what
// is listed. Another process may be faster at a write.
type crowd struct {
	*scripted
	mu     sync.Mutex
	lists  int
	fails  error                  // of the next List
	faster func(store.Write) bool // says of a write of a node whether another process is
	broken map[int64]bool         // nodes of which nothing can be written
}

func (c *crowd) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	c.mu.Lock()
	c.lists++
	err := c.fails
	c.fails = nil
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.scripted.List(ctx, namespace, nodes, limit)
}

func (c *crowd) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scripted.Get(ctx, keys)
}

func (c *crowd) Swap(ctx context.Context, writes []store.Write) []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, len(writes))
	for i, w := range writes {
		node := w.New.Node != store.NamespaceNode
		switch {
		case node && c.broken[w.New.Node]:
			errs[i] = errSilent
			continue
		case node && c.faster != nil && c.faster(w):
			other := w
			other.New.Holder, other.New.Nonce = "other.1", "theirs"
			c.Memory.Swap(ctx, []store.Write{other})
		}
		errs[i] = c.Memory.Swap(ctx, []store.Write{w})[0]
	}
	return errs
}

// newCrowd returns a stage for many leases, of which one has a block of as many nodes.
func newCrowd(t *testing.T, block int) (*stage, *crowd, *Options) {
	g := empty(t, withRollback)
	o := g.c.opts
	o.Node, o.Nodes = nil, block
	return g, &crowd{scripted: g.st, broken: map[int64]bool{}}, &o
}

// held returns the nodes that are held in the name of the stage.
func (g *stage) held() (nodes []int64) {
	g.Helper()
	among := snowfence.NodeRange{Until: 256}
	rs, err := g.st.Memory.List(g.Context(), "n", among, 1000)
	g.must(err)
	for _, r := range rs {
		if r.Holder != "" && r.Holder != "other.1" && r.Label == "stage" {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

// Leases are opened together only where each of them could be opened alone.
func TestOpenAllOfWhatCannotBe(t *testing.T) {
	node := int64(5)
	sticky := filepath.Join(t.TempDir(), "node")
	for name, c := range map[string]struct {
		n    int
		hurt func(o *Options)
		ok   bool
	}{
		"none":                  {0, func(*Options) {}, true},
		"fewer than none":       {-1, func(*Options) {}, false},
		"a wrong option":        {2, func(o *Options) { o.TTL = time.Millisecond }, false},
		"one on a fixed node":   {1, func(o *Options) { o.Node = &node }, true},
		"two on a fixed node":   {2, func(o *Options) { o.Node = &node }, false},
		"one of a sticky file":  {1, func(o *Options) { o.StickyFile = sticky }, true},
		"two of a sticky file":  {2, func(o *Options) { o.StickyFile = sticky }, false},
		"two on any free nodes": {2, func(*Options) {}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, st, o := newCrowd(t, 1)
			c.hurt(o)
			leases, err := OpenAll(t.Context(), st, "n", g.l.scheme, c.n, o)
			if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) || err == nil && len(g.held()) != c.n {
				t.Errorf("%s: %v, and %d nodes are held", name, err, len(g.held()))
			}
			g.must(ShutdownAll(t.Context(), leases))
		})
	}
	g, st, o := newCrowd(t, 1)
	if _, err := OpenAll(t.Context(), nil, "n", g.l.scheme, 1, o); err == nil {
		t.Error("opened without a store")
	}
	if _, err := OpenAll(t.Context(), st, "n", nil, 1, o); err == nil {
		t.Error("opened without a scheme")
	}
}

// Free nodes are read once. If another process was faster, they are read again
// for the missing leases. No more leases are opened than were asked for.
func TestOpenAllWhereOthersAreFaster(t *testing.T) {
	for name, c := range map[string]struct {
		want, lost int // how many writes are lost at first
		lists      func(n int) bool
	}{
		"no other": {3, 0, func(n int) bool { return n <= 2 }}, // to the last node, and from the first
		"once":     {3, 1, func(n int) bool { return n > 1 && n <= 4 }},
		"for all":  {2, 2, func(n int) bool { return n > 1 }}, // one lease looks closer, by itself
		"for many": {25, 25, func(n int) bool { return n > 1 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, st, o := newCrowd(t, 1)
			lost := 0
			st.faster = func(w store.Write) bool { lost++; return lost <= c.lost }
			leases, err := OpenAll(t.Context(), st, "n", g.l.scheme, c.want, o)
			g.must(err)
			var nodes []int64
			for _, l := range leases {
				nodes = append(nodes, l.Status().Grant.Node)
			}
			slices.Sort(nodes)
			if held := g.held(); len(nodes) != c.want || !slices.Equal(nodes, held) {
				t.Errorf("%s: opened nodes %d, and held are %d", name, nodes, held)
			}
			if !c.lists(st.lists) {
				t.Errorf("%s: what is free was read %d times", name, st.lists)
			}
			g.must(ShutdownAll(t.Context(), leases))
			if held := g.held(); len(held) != 0 {
				t.Errorf("%s: still held: %d", name, held)
			}
		})
	}
}

// An error ends it, also one that would not come again.
func TestOpenAllWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, st, o := newCrowd(t, 1)
		st.fails = errSilent
		if leases, err := OpenAll(t.Context(), st, "n", g.l.scheme, 3, o); !errors.Is(err, errSilent) || leases != nil {
			t.Errorf("%d leases, %v", len(leases), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g, st, o := newCrowd(t, 128)
		var taken *TakenError
		if leases, err := OpenAll(t.Context(), st, "n", g.l.scheme, 3, o); !errors.As(err, &taken) || leases != nil {
			t.Errorf("%d leases on two blocks, %v", len(leases), err)
		}
		if held := g.held(); len(held) != 0 {
			t.Errorf("nodes %d are still held", held)
		}
	})
}

// Calls begin until one returns an error. It is returned when all have ended.
func TestEachUntilAnError(t *testing.T) {
	const n = openers + 10
	for name, c := range map[string]struct {
		fails error
		want  int
	}{"without an error": {nil, n}, "with an error": {errSilent, openers}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			begun, ended := 0, 0
			wait := make(chan struct{})
			time.AfterFunc(time.Second, func() { close(wait) })
			err := each(n, openers, func(i int) error {
				mu.Lock()
				begun++
				mu.Unlock()
				if i == 7 { // while all others wait
					time.Sleep(time.Millisecond)
					return c.fails
				}
				<-wait
				mu.Lock()
				ended++
				mu.Unlock()
				return nil
			})
			if !errors.Is(err, c.fails) || begun != c.want || ended != begun-1 {
				t.Errorf("%s: %d calls, %d have ended, %v", name, begun, ended, err)
			}
		})
	}
}

// Each lease that is opened with others draws the next free
// block, and a time for its renewals, until there are no more.
func TestOffersAreDrawnInOrder(t *testing.T) {
	g, f := found(t, 0, 0)
	g.c.opts.TTL = 30 * time.Second
	g.c.offers = &offers{want: 5, start: g.now, read: true, free: []int64{4, 8, 9}}
	for i, want := range []int64{4, 8, 9} {
		got, err := f.offered(t.Context())
		g.must(err)
		if len(got) != 1 || got[0] != want || !g.c.slot.Equal(g.now.Add(time.Duration(i)*2*time.Second)) {
			t.Errorf("node %d at %v, not %d at %v", got, g.c.slot, want, i)
		}
	}
	if _, err := f.offered(t.Context()); !errors.Is(err, errDrained) {
		t.Errorf("a fourth one: %v", err)
	}
}

// First come free blocks that the same label had, the latest
// first. Then come blocks without a last holder, then the others.
func TestVacantBlocks(t *testing.T) {
	const now = 1_000_000
	mine := func(node, until int64) store.Record {
		return store.Record{Key: store.Key{Namespace: "n", Node: node}, Until: until, Label: "stage"}
	}
	theirs := func(node, until int64) store.Record {
		return store.Record{Key: store.Key{Namespace: "n", Node: node}, Until: until, Label: "other"}
	}
	taken := func(node int64) store.Record {
		return store.Record{Key: store.Key{Namespace: "n", Node: node}, Veto: "rack on fire"}
	}
	for name, c := range map[string]struct {
		block       int
		first, last int64
		records     []store.Record
		n           int
		want        string // a number of free blocks without a last holder may follow, in any order
		fresh       int
	}{
		"no block had a holder":           {1, 10, 13, nil, 9, "[10 11 12 13]", 0},
		"some of them":                    {1, 10, 255, nil, 9, "[]", 9},
		"all are known":                   {1, 10, 12, []store.Record{theirs(10, 5), mine(11, 5), theirs(12, 5)}, 9, "[10 11 12]", 0},
		"the own first":                   {1, 10, 255, []store.Record{theirs(10, 5), mine(40, 5)}, 1, "[40]", 0},
		"the own, and one that was fresh": {1, 10, 13, []store.Record{theirs(10, 5), mine(11, 5), theirs(12, 5)}, 2, "[11 13]", 0},
		"the own, a fresh one, others":    {1, 10, 13, []store.Record{theirs(10, now+9), mine(11, 5), theirs(12, 5)}, 3, "[11 12 13]", 0},
		"the own that is free soonest":    {1, 10, 12, []store.Record{mine(10, now+9), mine(11, now+3), mine(12, now+6)}, 1, "[11]", 0},
		"two of the own":                  {1, 10, 12, []store.Record{mine(10, now+9), mine(11, now+3), mine(12, now+6)}, 2, "[11 12]", 0},
		"as many as are wanted":           {1, 10, 12, []store.Record{theirs(10, 5), theirs(11, 6), theirs(12, 7)}, 2, "[10 11]", 0},
		"without those that are taken":    {1, 10, 13, []store.Record{taken(10), mine(12, 5)}, 9, "[11 12 13]", 0},

		"of whole blocks":                       {4, 10, 21, nil, 9, "[12 16]", 0},
		"of whole blocks to the last node":      {4, 12, 19, nil, 9, "[12 16]", 0},
		"none is whole":                         {4, 10, 14, nil, 9, "[]", 0},
		"not one node too few":                  {4, 12, 15, nil, 9, "[12]", 0},
		"some nodes of each were leased":        {4, 10, 21, []store.Record{mine(11, 5), mine(13, 5), mine(18, 5), mine(20, 5)}, 9, "[12 16]", 0},
		"the first node is taken":               {2, 10, 13, []store.Record{taken(10), theirs(11, 5)}, 9, "[12]", 0},
		"the second node is taken":              {2, 10, 13, []store.Record{theirs(10, 5), taken(11)}, 9, "[12]", 0},
		"the first node was the own":            {2, 10, 13, []store.Record{mine(12, 5), theirs(13, 5)}, 1, "[12]", 0},
		"the second node was the own":           {2, 10, 13, []store.Record{theirs(12, 5), mine(13, 5)}, 1, "[12]", 0},
		"the first node is free late":           {2, 10, 13, []store.Record{mine(10, now+9), mine(11, 5), mine(12, now+5), mine(13, 5)}, 1, "[12]", 0},
		"the second node is free late":          {2, 10, 13, []store.Record{mine(10, 5), mine(11, now+9), mine(12, 5), mine(13, now+5)}, 1, "[12]", 0},
		"every number of the nodes is possible": {1, 0, 255, nil, 256, "", 256},
	} {
		for range 5 { // from different places on
			g, f := found(t, now, 0)
			g.c.opts.Node, g.c.opts.Nodes = nil, c.block
			f.ns.Nodes = snowfence.NodeRange{From: c.first, Until: c.last + 1}
			for _, r := range c.records {
				r.Nonce, r.Revision, r.Generation = "x", 1, 4
				g.must(g.st.Memory.Swap(t.Context(), []store.Write{{New: r}})[0])
			}
			got, err := f.vacancies(t.Context(), c.n)
			g.must(err)
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%s: %d", name, got)
			}
			if c.fresh == 0 && fmt.Sprint(got) != c.want || c.fresh > 0 && len(got) != c.fresh {
				t.Errorf("%s: %d, not %s", name, got, c.want)
			}
		}
	}
}
