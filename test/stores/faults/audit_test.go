//go:build linux

package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// verdict is what an audit of all workers of a namespace found.
type verdict struct {
	ids, duplicates int64
	wrong           []string
}

// judge audits what all workers made. Four things must hold: no ID is there
// twice; the IDs of each process rise; no two processes used the same tick
// of the same node; and each ID lies below an end that the store had
// acknowledged to its process, where the process says so.
func judge(t testing.TB, s *snowfence.Scheme, ws []*worker) verdict {
	t.Helper()
	a, err := audit.New(audit.Options{Scheme: s})
	must(t, err)
	var v verdict
	var all []stretch
	for i, w := range ws {
		w.mu.Lock()
		must(t, a.Add(w.ids...))
		used, wrong := stretches(s, i, w)
		w.mu.Unlock()
		all = append(all, used...)
		v.wrong = append(v.wrong, wrong...)
	}
	r, err := a.Result(t.Context())
	must(t, err)
	v.ids, v.duplicates = r.Count, r.Duplicates.IDs
	if v.duplicates > 0 {
		v.wrong = append(v.wrong, fmt.Sprintf("%d IDs were made more than once: %+v", v.duplicates, r.Duplicates.List))
	}
	slices.SortFunc(all, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.first, b.first))
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.node == b.node && b.first <= a.last && a.worker != b.worker {
			v.wrong = append(v.wrong, fmt.Sprintf("node %d: %s used the ticks %d to %d, %s %d to %d",
				a.node, ws[a.worker].name, a.first, a.last, ws[b.worker].name, b.first, b.last))
		}
	}
	return v
}

// judged is judge, and fails the test for what it finds.
func judged(t testing.TB, s *snowfence.Scheme, ws []*worker) verdict {
	t.Helper()
	v := judge(t, s, ws)
	for _, x := range v.wrong {
		t.Error(x)
	}
	return v
}

// stretch is a run of ticks of a node that a worker used.
type stretch struct {
	node, first, last int64
	worker            int
}

// stretches takes the IDs of a worker apart. A pause ends a stretch,
// because another process may have the node then.
func stretches(s *snowfence.Scheme, number int, w *worker) (used []stretch, wrong []string) {
	ends := map[int64]int64{} // by node, what was acknowledged at most
	for _, g := range w.grants {
		if g.node < 0 {
			wrong = append(wrong, w.name+" wrote something else than IDs")
		}
		ends[g.node] = max(ends[g.node], g.until)
	}
	for i, id := range w.ids {
		p, err := s.Decode(id)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s made %d: %v", w.name, id, err))
			continue
		}
		if i > 0 && id <= w.ids[i-1] {
			wrong = append(wrong, fmt.Sprintf("%s made %d after %d", w.name, id, w.ids[i-1]))
		}
		if len(w.grants) > 0 && p.Tick >= ends[p.Node] {
			wrong = append(wrong, fmt.Sprintf(
				"%s made %d with tick %d of node %d, which it had been granted up to %d", w.name, id, p.Tick, p.Node,
				ends[p.Node]))
		}
		if n := len(used) - 1; n >= 0 && used[n].node == p.Node && p.Tick-used[n].last <= 100 {
			used[n].last = p.Tick
		} else {
			used = append(used, stretch{p.Node, p.Tick, p.Tick, number})
		}
	}
	return used, wrong[:min(len(wrong), 5)]
}

// TestAuditFinds is the control of all the others: two processes that take
// the same static number are caught, and so is an ID past what was granted.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	s := fleet.Scheme(t, "twitter")
	var ws []*worker
	for i := range 2 {
		ws = append(ws, launch(t, fmt.Sprint("static ", i), nil, holderPath(t), "-static", "-node", "7"))
	}
	// With eight IDs every ten milliseconds each, they meet in a tick
	// before long, and both begin with sequence number 0 there.
	within(t, time.Minute, "two processes with one number are caught", func() bool {
		v := judge(t, s, ws)
		return v.duplicates > 0 && strings.Contains(strings.Join(v.wrong, "\n"), "made more than once") &&
			strings.Contains(strings.Join(v.wrong, "\n"), "used the ticks")
	})
	w := ws[0]
	w.kill()
	if v := judge(t, s, ws[:1]); len(v.wrong) > 0 || v.ids == 0 {
		t.Fatalf("one alone: %+v", v)
	}
	p, err := s.Decode(w.ids[len(w.ids)-1])
	must(t, err)
	w.grants = []acknowledged{{7, p.Tick}}
	if v := judge(t, s, ws[:1]); len(v.wrong) == 0 || !strings.Contains(v.wrong[0], "granted up to") {
		t.Errorf("an ID past the end of its grant was not found: %+v", v)
	}
	w.ids = append(w.ids, w.ids[0])
	w.grants = nil
	if v := judge(t, s, ws[:1]); len(v.wrong) == 0 || !strings.Contains(strings.Join(v.wrong, "\n"), " after ") {
		t.Errorf("an ID out of order was not found: %+v", v)
	}
}
