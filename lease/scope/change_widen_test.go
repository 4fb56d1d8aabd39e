package scope_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// running is a process of a fleet: a generator and how it ends.
type running struct {
	t *testing.T
	g *snowfence.Generator
	s *snowfence.Scheme
}

// static starts a process with a number given by hand, whose clock is off.
func static(t *testing.T, s *snowfence.Scheme, node int64, off time.Duration) *running {
	t.Helper()
	g := must(snowfence.New(snowfence.Config{
		Fence: snowfence.Unguarded(s, node), Time: clockOff(off), MaxWait: time.Minute,
	}))
	return &running{t, g, s}
}

// leased starts a process with a leased number.
func leased(t *testing.T, st store.Store, s *snowfence.Scheme, o lease.Options, off time.Duration) *running {
	t.Helper()
	o.Time = clockOff(off)
	g := must(generator(t.Context(), st, "default", s, snowfence.Config{Time: o.Time, MaxWait: time.Minute}, &o))
	return &running{t, g, s}
}

// clockOff is a clock that is off.
func clockOff(off time.Duration) snowfence.TimeSource {
	start := time.Now()
	return func() (time.Time, time.Duration) { return time.Now().Add(off), time.Since(start) }
}

func (r *running) next() (snowfence.ID, snowfence.Parts) {
	r.t.Helper()
	id := must(r.g.Next(r.t.Context()))
	p := must(r.s.Decode(id))
	return id, p
}

func (r *running) stop() {
	r.t.Helper()
	if err := r.g.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// TestFromStaticToLeased walks the four steps of docs/move/README.md: a
// running fleet with the numbers 0 to 3 given by hand moves, process by
// process, to leased numbers from 30 on, and in the end the old numbers
// become leasable too. IDs are made all the time, some by a clock that is
// four seconds ahead and, at the end, by one that is behind; none comes
// twice.
func TestFromStaticToLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), newScheme(t, "time=41,node=6,seq=12,epoch=1999-01-01,tick=1ms")
		made, nodes := map[snowfence.ID]bool{}, map[int64]bool{}
		var last time.Time // timestamp of the last ID of a number given by hand
		run := func(fleet []*running, rounds int) {
			t.Helper()
			for range rounds {
				for _, r := range fleet {
					id, p := r.next()
					if made[id] {
						t.Fatalf("ID %d of node %d was made before", id, p.Node)
					}
					made[id], nodes[p.Node] = true, true
					if p.Node < 30 && p.Time.After(last) {
						last = p.Time
					}
				}
				time.Sleep(10 * time.Millisecond)
			}
		}

		fleet := []*running{static(t, s, 0, 0), static(t, s, 1, 0), static(t, s, 2, 0), static(t, s, 3, 4*time.Second)}
		run(fleet, 200)

		// 1. A namespace in which only numbers can be leased that no
		//    program was given.
		must(scope.Namespaces(st).Create(t.Context(), "default", s,
			&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 30, Until: 64}}))
		// 2. Process by process, while the others go on.
		for i := range fleet {
			fleet[i].stop()
			fleet[i] = leased(t, st, s, lease.Options{}, 0)
			if _, p := fleet[i].next(); p.Node < 30 {
				t.Fatalf("leased node %d", p.Node)
			}
			run(fleet, 50)
		}
		// 3. No program has a number given by hand any more: they become
		//    leasable, above what they were used for.
		must(scope.Namespaces(st).Change(t.Context(), "default", nil, &scope.NamespaceOptions{
			Nodes: snowfence.NodeRange{Until: 64}, Unused: last.Add(time.Millisecond),
		}))
		run(fleet, 50) // those who hold leases go on
		for range 4 {
			fleet = append(fleet,
				leased(t, st, s, lease.Options{Within: snowfence.NodeRange{From: 0, Until: 4}}, -4*time.Second))
		}
		run(fleet, 600)
		for _, r := range fleet {
			r.stop()
		}
		if len(nodes) != 8 {
			t.Errorf("%d IDs of %d nodes, want 8", len(made), len(nodes))
		}
	})
}

func TestWidenRefused(t *testing.T) {
	st, s := store.NewMemory(), newScheme(t, "time=41,node=6,seq=12")
	now := time.Now()
	widen := func(first, last int64, unused time.Time) error {
		_, err := scope.Namespaces(st).Change(t.Context(), "default",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: first, Until: last + 1}, Unused: unused})
		return err
	}
	wantErr(t, widen(0, 63, now), lease.ErrNoNamespace, "without a namespace")
	must(scope.Namespaces(st).Create(t.Context(), "default", s,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 30, Until: 41}}))
	for want, err := range map[string]error{
		"layout has nodes 0 to 63": widen(0, 64, now),
		"more than 1h0m0s ahead":   widen(0, 63, now.Add(2*time.Hour)),
		"nodes -1 to 63":           widen(-1, 63, now),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if ns, err := scope.Namespaces(st).Show(t.Context(), "default"); err != nil ||
		ns.Nodes != (snowfence.NodeRange{From: 30, Until: 41}) || ns.Floor != 0 {
		t.Errorf("a refused call changed the namespace: %+v, %v", ns, err)
	}
	if err := widen(20, 40, now); err != nil {
		t.Fatal(err)
	}
	ns, err := scope.Namespaces(st).Show(t.Context(), "default")
	if err != nil || ns.Nodes != (snowfence.NodeRange{From: 20, Until: 41}) || ns.Floor <= s.Layout().TickOf(now) {
		t.Errorf("%+v, %v", ns, err)
	}
	must(scope.Namespaces(st).Delete(t.Context(), "default"))
	wantErr(t, widen(0, 63, now), lease.ErrNoNamespace, "of a deleted namespace")
}
