package lease_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// counting is a store that counts its round trips, and refuses to swap once told to.
type counting struct {
	*store.Memory
	gets, swaps, lists atomic.Int64
	broken             atomic.Bool

	mu     sync.Mutex
	writes func([]store.Write) // told of all swaps
}

func (c *counting) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	c.gets.Add(1)
	time.Sleep(time.Millisecond)
	return c.Memory.Get(ctx, keys)
}

func (c *counting) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	c.lists.Add(1)
	return c.Memory.List(ctx, namespace, nodes, limit)
}

func (c *counting) Swap(ctx context.Context, writes []store.Write) []error {
	c.swaps.Add(1)
	if c.broken.Load() {
		return slices.Repeat([]error{errors.New("the disk is full")}, len(writes))
	}
	c.mu.Lock()
	if c.writes != nil {
		c.writes(writes)
	}
	c.mu.Unlock()
	time.Sleep(time.Millisecond)
	return c.Memory.Swap(ctx, writes)
}

func (c *counting) tell(f func([]store.Write)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = f
}

// TestOpenAll takes all nodes of a namespace but those that are held or vetoed, in few
// round trips, renews them evenly, and gives them back.
func TestOpenAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &counting{Memory: store.NewMemory()}, newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01,tick=1ms")
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", s,
			&lease.NamespaceOptions{MaxTTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		node := int64(77)
		held, err := lease.Open(t.Context(), st, "default", s, &lease.Options{Node: &node, Label: "other"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Namespaces(st).Veto(t.Context(), "default", 78, "broken"); err != nil {
			t.Fatal(err)
		}
		st.gets.Store(0)
		st.swaps.Store(0)
		o := &lease.Options{TTL: time.Minute, Idle: -1}
		ls, err := lease.OpenAll(t.Context(), st, "default", s, 1022, o)
		if err != nil {
			t.Fatal(err)
		}
		if gets, swaps := st.gets.Load(), st.swaps.Load(); gets > 60 || swaps > 30 {
			t.Errorf("1022 leases took %d reads and %d swaps", gets, swaps)
		}
		distinct := map[int64]bool{77: true, 78: true}
		for _, l := range ls {
			distinct[l.Status().Grant.Node] = true
		}
		if len(distinct) != 1024 {
			t.Errorf("%d nodes, want 1024 with the held and the vetoed one", len(distinct))
		}
		var taken *lease.TakenError
		if _, err := lease.OpenAll(t.Context(), st, "default", s, 5, o); !errors.As(err, &taken) {
			t.Errorf("with all nodes taken: %v", err)
		}

		// Two thirds of the ttl, in seconds: how many are written in each, and that the
		// nodes are written in their order.
		perSecond := make([]int, 40)
		var order []int64
		start := time.Now()
		st.tell(func(ws []store.Write) {
			for _, w := range ws {
				if w.New.Node != node {
					perSecond[min(int(time.Since(start)/time.Second), len(perSecond)-1)]++
					order = append(order, w.New.Node)
				}
			}
		})
		time.Sleep(39*time.Second + time.Second/2)
		synctest.Wait()
		st.tell(nil)
		for i, n := range perSecond[2:38] {
			if n < 1022/20-10 || n > 1022/20+10 {
				t.Errorf("second %d: %d renewals, want about %d", i+2, n, 1022/20)
			}
		}
		back := 0
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] {
				back++
			}
		}
		if len(order) < 1900 || back > 10 {
			t.Errorf("of %d renewals %d were of a lower node than the one before", len(order), back)
		}
		if err := lease.ShutdownAll(t.Context(), ls); err != nil {
			t.Fatal(err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
		with := func(match func(store.Record) bool) int {
			rs, err := st.Memory.List(t.Context(), "default", snowfence.NodeRange{Until: 1024}, 1024)
			if err != nil {
				t.Fatal(err)
			}
			return len(rs) - len(slices.DeleteFunc(rs, match))
		}
		if n := with(func(r store.Record) bool { return r.Holder == "" }); n != 1024 {
			t.Errorf("%d nodes are free after all were given back", n)
		}

		// Blocks, and what the same label held before.
		o.Nodes, o.Label = 4, "blocks"
		for range 2 {
			ls, err := lease.OpenAll(t.Context(), st, "default", s, 20, o)
			if err != nil {
				t.Fatal(err)
			}
			var firsts []int64
			for _, l := range ls {
				g := l.Status().Grant
				if g.Nodes != 4 || g.Node%4 != 0 || g.Node == 76 {
					t.Errorf("a block of %+v", g)
				}
				firsts = append(firsts, g.Node)
			}
			slices.Sort(firsts)
			if n := len(slices.Compact(firsts)); n != 20 {
				t.Errorf("%d blocks, want 20", n)
			}
			if err := lease.ShutdownAll(t.Context(), ls); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if n := with(func(r store.Record) bool { return r.Label == "blocks" }); n != 80 {
			t.Errorf("20 blocks of 4 were opened twice, on %d nodes: the second time should be as the first", n)
		}
	})
}

// TestOpenAllOrNone: when one lease cannot be had, those that were opened are given back.
func TestOpenAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &counting{Memory: store.NewMemory()}, newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01,tick=1ms")
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", s, nil); err != nil {
			t.Fatal(err)
		}
		var taken *lease.TakenError
		if ls, err := lease.OpenAll(t.Context(), st, "default", s, 1025, nil); !errors.As(err, &taken) || ls != nil {
			t.Errorf("one too many: %d leases, %v", len(ls), err)
		}
		among := snowfence.NodeRange{Until: 1024}
		rs, err := st.Memory.List(t.Context(), "default", among, 1<<20)
		if err != nil || len(rs) == 0 {
			t.Fatalf("%d records, %v", len(rs), err)
		}
		for _, r := range rs {
			if r.Holder != "" {
				t.Fatalf("node %d is still held", r.Node)
			}
		}
		st.broken.Store(true)
		if ls, err := lease.OpenAll(t.Context(), st, "default", s, 10, nil); err == nil {
			t.Errorf("with a broken store: %d leases", len(ls))
		}
		node := int64(1)
		for _, o := range []*lease.Options{{Node: &node}, {Nodes: 3}} {
			if _, err := lease.OpenAll(t.Context(), st, "default", s, 2, o); err == nil {
				t.Errorf("%+v was accepted for two leases", o)
			}
		}
		if _, err := lease.OpenAll(t.Context(), st, "default", s, -1, nil); err == nil {
			t.Error("a negative number was accepted")
		}
		if ls, err := lease.OpenAll(t.Context(), st, "default", s, 0, nil); err != nil || len(ls) != 0 {
			t.Errorf("no leases: %v, %v", ls, err)
		}
	})
}
