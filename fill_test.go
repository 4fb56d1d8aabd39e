package snowfence

import (
	"errors"
	"slices"
	"testing"
)

// Runs are the IDs that Fill gives, written in another way.
func TestRunsAreWhatFillGives(t *testing.T) {
	for _, c := range []struct {
		spec  string
		grant Grant
	}{
		{"twitter", Grant{Node: 8}},
		{"twitter", Grant{Node: 8, Nodes: 4}},
		{"twitter", Grant{Node: 5, FirstSeq: 100, LastSeq: 300}},
		{"sonyflake", Grant{Node: 64, Nodes: 8}},
		{"drift", Grant{Node: 2, Nodes: 2}},
		{"rollback", Grant{Node: 12}},
		{"discord", Grant{Node: 3}},
		{"time=41,zone=3,seq=8,node=4", Grant{Node: 4, Nodes: 4}},
	} {
		s := testScheme(t, c.spec)
		c.grant.Until = s.MaxTick()
		clock := newFakeClock()
		var all []ID
		a := newGenerator(t, Config{Fence: newScript(s, c.grant), Time: clock.now, Lead: 40})
		b := newGenerator(t, Config{Fence: newScript(s, c.grant), Time: clock.now, Lead: 40})
		for _, n := range []int{1, 2, 0, 1000, 3} {
			want := make([]ID, n)
			if _, err := a.Fill(t.Context(), want); err != nil {
				t.Fatal(c.spec, err)
			}
			runs, err := b.Runs(t.Context(), nil, int64(n))
			if err != nil {
				t.Fatal(c.spec, err)
			}
			var got []ID
			total := int64(0)
			for _, r := range runs {
				got = slices.AppendSeq(got, r.All())
				total += r.Len()
				if r.Step < 1 || got[len(got)-1] != r.Last {
					t.Errorf("%s: run %+v ends at %d", c.spec, r, got[len(got)-1])
				}
			}
			if !slices.Equal(got, want) || total != int64(n) {
				t.Errorf("%s: runs %+v are not the %d IDs of Fill", c.spec, runs, n)
			}
			all = append(all, got...)
		}
		checkIncreasing(t, all)
		checkUnique(t, all)
	}
}

func TestRunsKeepWhatWasTaken(t *testing.T) {
	s := testScheme(t, "twitter")
	g := newGenerator(t, Config{
		Fence:   newScript(s, Grant{Node: 1, Until: 1 << 40}),
		Time:    newFakeClock().now,
		MaxWait: -1,
	})
	runs, err := g.Runs(t.Context(), nil, 5000)
	if !errors.Is(err, ErrExhausted) || len(runs) != 1 || runs[0].Len() != 4096 {
		t.Errorf("%v, %v: want the 4096 IDs of the tick, and that there are no more", runs, err)
	}
}

func TestRunsOfEncryptedIDs(t *testing.T) {
	s := testScheme(t, "randflake")
	g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, Until: s.MaxTick()}), Time: newFakeClock().now})
	if runs, err := g.Runs(t.Context(), nil, 10); err == nil || runs != nil {
		t.Errorf("%v, %v: encrypted IDs are in no steps", runs, err)
	}
	if n := (Run{}).Len(); n != 0 {
		t.Errorf("the zero Run has %d IDs", n)
	}
}

// One generator over a block of nodes: as many more IDs in a tick,
// increasing, all inside.
func TestBlocksOfNodes(t *testing.T) {
	for _, c := range []struct {
		spec  string
		grant Grant
	}{
		{"twitter", Grant{Node: 8, Nodes: 4}},
		{"twitter", Grant{Node: 5, Nodes: 3}},
		{"twitter", Grant{Node: 30, Nodes: 4}}, // over the border between two datacenters
		{"twitter", Grant{Node: 1023, Nodes: 1}},
		{"twitter", Grant{Node: 16, Nodes: 2, FirstSeq: 100, LastSeq: 300}},
		{"sonyflake", Grant{Node: 64, Nodes: 8}},
		{"sonyflake", Grant{Node: 65533, Nodes: 3}},
		{"drift", Grant{Node: 2, Nodes: 2}},
		{"rollback", Grant{Node: 12, Nodes: 4}},
		{"time=41,zone=3,seq=8,node=4", Grant{Node: 4, Nodes: 4}},
		{"time=41,node=4,seq=8", Grant{Node: 0, Nodes: 16}},
	} {
		s := testScheme(t, c.spec)
		clock := newFakeClock()
		c.grant.Until = s.MaxTick()
		f := newScript(s, c.grant)
		g := newGenerator(t, Config{Fence: f, Time: clock.now, Lead: 1})
		ids, err := takeAll(t, g, 1<<18)
		l := s.Layout()
		seqs := l.Last - l.First + 1
		if c.grant.LastSeq > 0 {
			seqs = c.grant.LastSeq - c.grant.FirstSeq + 1
		}
		if want := 2 * seqs * c.grant.Nodes; int64(len(ids)) != want || !errors.Is(err, ErrExhausted) {
			t.Fatalf("%s %+v: %d IDs in two ticks, want %d: %v", c.spec, c.grant, len(ids), want, err)
		}
		checkIncreasing(t, ids)
		checkInside(t, s, ids, f.grants())

		// A batch and a handle make the same of the next two ticks.
		clock.advance(2 * l.Tick)
		dst := make([]ID, len(ids)/2+7)
		if n, err := g.Fill(t.Context(), dst); n != len(dst) {
			t.Fatalf("%s %+v: Fill made %d: %v", c.spec, c.grant, n, err)
		}
		h := g.Local()
		for len(dst) <= len(ids) {
			id, err := h.TryNext()
			if err != nil {
				break
			}
			dst = append(dst, id)
		}
		if len(dst) != len(ids) {
			t.Errorf("%s %+v: %d IDs in the next two ticks, want %d", c.spec, c.grant, len(dst), len(ids))
		}
		all := append(ids, dst...)
		checkIncreasing(t, all)
		checkInside(t, s, all, f.grants())
	}
}
