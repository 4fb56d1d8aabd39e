package storetest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// testPast counts IDs for times gone by: hours that are full, many processes, and records that are
// no nodes.
func testPast(w *world) {
	const space = "past"
	l, err := snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2025-01-01,first=5")
	w.must(err)
	s, err := snowfence.NewScheme(l)
	w.must(err)
	_, err = lease.Namespaces(w.st.Store).Create(w.ctx, space, s, nil)
	w.must(err)
	_, err = lease.Namespaces(w.st.Store).AllowBackfill(w.ctx, space, 4)
	w.must(err)
	before, err := w.st.Store.Identity(w.ctx, space)
	w.must(err)

	const makers = 3
	hour := time.Date(2025, 2, 3, 4, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	var all []snowfence.ID
	var wg sync.WaitGroup
	make1 := func(node int64, times []time.Time) error {
		b, err := lease.OpenBackfill(w.ctx, w.st.Store, space, s, node)
		if err != nil {
			return err
		}
		ids, err := b.NewAt(w.ctx, times...)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, ids...)
		return err
	}
	for range makers {
		wg.Go(func() {
			for n := range 5 {
				var times []time.Time
				for i := range 20 { // of two hours each time
					times = append(times, hour.Add(time.Duration(n*20+i)*time.Minute))
				}
				if err := make1(1023, times); err != nil {
					w.Errorf("IDs for the past: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	full := slices.Repeat([]time.Time{hour.Add(time.Second)}, 5000)
	for _, node := range []int64{0, 511} {
		w.must(make1(node, full)) // one full second makes the largest record
		if err := make1(node, full[:1]); !errors.Is(err, lease.ErrFull) {
			w.Errorf("a full second: %v", err)
		}
	}
	made := len(all)
	slices.Sort(all)
	if len(slices.Compact(all)) != made || made != makers*100+2*len(full) {
		w.Errorf("some of %d IDs came twice", made)
	}

	after, err := w.st.Store.Identity(w.ctx, space)
	w.must(err)
	if after != before {
		w.Errorf("counts gave the store another identity: %q, before %q", after, before)
	}
	below := snowfence.NodeRange{From: math.MinInt64, Until: store.SequenceNode}
	rs, err := w.st.Store.List(w.ctx, space, below, 1000)
	w.must(err)
	largest := 0
	for _, r := range rs {
		largest = max(largest, len(r.Data))
	}
	if len(rs) != 4 || largest < 7800 || largest > 8000 {
		w.Errorf("%d records of at most %d bytes", len(rs), largest)
	}
	held, err := lease.Namespaces(w.st.Store).Leases(w.ctx, space)
	w.must(err)
	spaces, err := lease.Namespaces(w.st.Store).List(w.ctx)
	w.must(err)
	if len(held) != 0 || len(spaces) != 2 {
		w.Errorf("counts are nodes: leases %v, namespaces %v", held, spaces)
	}
}
