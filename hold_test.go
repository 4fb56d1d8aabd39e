package snowfence

import (
	"fmt"
	"slices"
	"testing"
)

// A grant is refused where any of its bounds is outside of the layout, and
// taken where all are just inside.
func TestGrantsAtTheEdgesOfALayout(t *testing.T) {
	const plain, low = "time=10,node=3,seq=4,first=2,last=9", "time=10,zone=2,seq=4,node=3"
	for _, c := range []struct {
		spec  string
		grant Grant
		lead  int64
		ok    bool
	}{
		{plain, Grant{Until: 1}, 0, true},
		{plain, Grant{Until: 1024}, 0, true},
		{plain, Grant{Until: 1025}, 0, false},
		{plain, Grant{From: 1023, Until: 1024}, 0, true},
		{plain, Grant{From: -1, Until: 5}, 0, false},
		{plain, Grant{From: 5, Until: 5}, 0, false},
		{plain, Grant{From: 6, Until: 5}, 0, false},
		{plain, Grant{Until: 9, Node: -1}, 0, false},
		{plain, Grant{Until: 9, Node: -1, Nodes: 2}, 0, false},
		{plain, Grant{Until: 9, Node: 7}, 0, true},
		{plain, Grant{Until: 9, Node: 8}, 0, false},
		{plain, Grant{Until: 9, Nodes: 8}, 0, true},
		{plain, Grant{Until: 9, Nodes: 9}, 0, false},
		{plain, Grant{Until: 9, Node: 1, Nodes: 8}, 0, false},
		{plain, Grant{Until: 9, FirstSeq: 2, LastSeq: 9}, 0, true},
		{plain, Grant{Until: 9, FirstSeq: 1, LastSeq: 9}, 0, false},
		{plain, Grant{Until: 9, FirstSeq: 0, LastSeq: 9}, 0, false},
		{plain, Grant{Until: 9, FirstSeq: 2, LastSeq: 10}, 0, false},
		{plain, Grant{Until: 9, FirstSeq: 5, LastSeq: 5}, 0, true},
		{plain, Grant{Until: 9, FirstSeq: 5, LastSeq: 4}, 0, false},
		{plain, Grant{Until: 9, FirstSeq: 5, LastSeq: 0}, 0, false},
		{low, Grant{Until: 9, Node: 4, Nodes: 4}, 0, true},
		{low, Grant{Until: 9, Node: 8, Nodes: 8}, 0, true},
		{low, Grant{Until: 9, Node: 5, Nodes: 4}, 0, false}, // over the border between two zones
		{low, Grant{Until: 9, Node: 7, Nodes: 2}, 0, false},
		{"time=10,zone=2,node=3", Grant{Until: 9, Node: 7, Nodes: 2}, 0, true}, // without a sequence nothing stands between
		{"time=10,zone=2,node=3,seq=4", Grant{Until: 9, Node: 7, Nodes: 2}, 0, true},
		// 2^61 positions fit in a word, and 2^53 in a tick.
		{"time=3,seq=31,node=22", Grant{Until: 8, Nodes: 1 << 22}, 1<<8 - 1, true},
		{"time=3,seq=31,node=22", Grant{Until: 8, Nodes: 1 << 22}, 1 << 8, false},
		{"time=3,node=23,seq=31", Grant{Until: 8, Nodes: 1<<22 + 1}, 0, false},
		{"time=3,node=32,seq=29", Grant{Until: 8, Nodes: 1 << 32}, 0, false},
	} {
		s := testScheme(t, c.spec)
		h, err := newHold(s, here, c.grant.norm(s.layout), c.grant.From, c.grant.From, c.lead)
		if (err == nil) != c.ok {
			t.Errorf("%s, %+v, lead %d: %v", c.spec, c.grant, c.lead, err)
		}
		if err == nil && (h.start != c.grant.From || h.until() != c.grant.Until || h.tracks[0].word.Load() != 0) {
			t.Errorf("%s, %+v: starts at %d, ends at %d", c.spec, c.grant, h.start, h.until())
		}
	}
}

// The position of each ID counts those below it: the positions of a grant
// are all its IDs, in increasing order. Pieces say the same.
func TestPositionsAreTheIDsOfAGrantInOrder(t *testing.T) {
	for _, c := range []struct {
		spec  string
		grant Grant
		form  form
		row   uint64 // positions of a block whose IDs are in equal steps
	}{
		{"time=6,node=3,seq=4", Grant{Node: 5}, shifts, 0},
		{"time=6,node=3,seq=4", Grant{Node: 5, FirstSeq: 4, LastSeq: 7}, shifts, 0},
		{"time=6,node=3,seq=4", Grant{Node: 5, FirstSeq: 4, LastSeq: 8}, linear, 0},
		{"time=6,node=3,seq=4", Grant{Node: 5, FirstSeq: 3, LastSeq: 3}, shifts, 0},
		{"time=6,node=3,seq=4", Grant{Node: 4, Nodes: 4}, shifts, 0},
		{"time=6,node=3,seq=4", Grant{Node: 1, Nodes: 3}, linear, 0},
		{"time=6,node=3,seq=4", Grant{Node: 1, Nodes: 3, LastSeq: 7}, block, 8},
		{"time=6,node=3,seq=4", Grant{Node: 1, Nodes: 3, FirstSeq: 8, LastSeq: 15}, block, 8},
		{"time=6,node=3,seq=4", Grant{Nodes: 8}, shifts, 0},
		{"time=6,node=3,seq=4,first=1", Grant{Node: 2, Nodes: 2}, block, 15},
		{"time=6,seq=4,node=3", Grant{Node: 5}, shifts, 0},
		{"time=6,seq=4,node=3", Grant{Node: 4, Nodes: 2}, block, 2},
		{"time=6,seq=4,node=3", Grant{Node: 3, Nodes: 3, FirstSeq: 2, LastSeq: 6}, block, 3},
		{"time=6,seq=4,node=3", Grant{Nodes: 8}, block, 8},
		{"time=6,zone=2,rack=2,seq=3", Grant{Node: 2, Nodes: 4}, shifts, 0},
		{"time=6,zone=2,rollback=1,rack=2,seq=3", Grant{Node: 2, Nodes: 4}, block, 8},
		{"time=6,zone=2,rack=2,rollback=1,seq=3", Grant{Node: 2, Nodes: 4}, block, 8},
		{"time=6,zone=2,seq=3,rack=2", Grant{Node: 4, Nodes: 4}, block, 1},
		{"time=6,seq=3,zone=2,rollback=1,rack=2", Grant{Node: 2, Nodes: 4}, block, 1},
		{"time=6,seq=3,zone=2,rack=2", Grant{Node: 2, Nodes: 5}, block, 5},
		{"time=6,zone=2,rack=2", Grant{Node: 2, Nodes: 5}, linear, 0},
	} {
		s := testScheme(t, c.spec)
		c.grant.From, c.grant.Until = 3, 9
		h := must(newHold(s, here, c.grant.norm(s.layout), 3, 3, 0))
		gr := h.grant
		for roll, track := range h.tracks {
			var want []ID
			for tick := gr.From; tick < gr.Until; tick++ {
				for node := gr.Node; node < gr.Node+gr.Nodes; node++ {
					for seq := gr.FirstSeq; seq <= gr.LastSeq; seq++ {
						p := Parts{Tick: tick, Node: node, Sequence: seq, Rollback: int64(roll)}
						want = append(want, must(s.Compose(p)))
					}
				}
			}
			slices.Sort(want)
			name := fmt.Sprintf("%s, %+v", c.spec, c.grant)
			if n := track.end.Load(); n != uint64(len(want)) || track.form != c.form {
				t.Fatalf("%s: %d positions for %d IDs, form %d, want %d", name, n, len(want), track.form, c.form)
			}
			for from := range want {
				rest := want[from:]
				id, step, count := track.piece(uint64(from), uint64(len(rest)))
				if over := uint64(from)%track.span + count; count == 0 || over > track.span {
					t.Fatalf("%s: %d positions from %d in a piece", name, count, from)
				}
				for i, w := range rest[:count] {
					if id+ID(i)*step != w || track.id(uint64(from+i)) != w ||
						track.form == shifts && track.shiftID(uint64(from+i)) != w {
						t.Fatalf("%s: position %d is %d, want %d", name, from+i, id+ID(i)*step, w)
					}
				}
				row := track.span
				if track.form == block {
					row = c.row
				}
				if (uint64(from)+count)%row != 0 {
					t.Fatalf("%s: the piece from %d has %d positions and ends inside of a row of %d",
						name, from, count, row)
				}
				if _, _, n := track.piece(uint64(from), 1); n != 1 {
					t.Errorf("%s: %d positions where one was asked for", name, n)
				}
			}
		}
	}
}

// What lies before the start is not used again, and positions start late
// enough for the present to be among them.
func TestHoldsStartAndEndWhereTheyShould(t *testing.T) {
	s := testScheme(t, "time=40,node=3,seq=4,rollback=1")
	for _, c := range []struct {
		grant      Grant
		start, now int64
		from       int64  // of position 0
		word       uint64 // the first position
	}{
		{Grant{From: 10, Until: 20}, 5, 12, 10, 0},
		{Grant{From: 10, Until: 20}, 10, 12, 10, 0},
		{Grant{From: 10, Until: 20}, 13, 0, 10, 3 * 16},
		{Grant{From: 10, Until: 20}, 13, 1 << 39, 10, 3 * 16},
	} {
		h := must(newHold(s, here, c.grant.norm(s.layout), c.start, c.now, 0))
		for _, track := range h.tracks {
			if track.from != c.from || track.word.Load() != c.word || h.start != max(c.start, c.grant.From) ||
				h.until() != c.grant.Until {
				t.Errorf("%+v: from %d, word %d, start %d, until %d",
					c, track.from, track.word.Load(), h.start, h.until())
			}
		}
	}

	// With 2^50 positions in a tick, 2^10 ticks before now are as many as
	// half a word has room for.
	w := testScheme(t, "time=14,seq=31,node=19")
	whole := Grant{Nodes: 1 << 19, Until: 1 << 14}
	for _, c := range []struct{ now, from, until int64 }{
		{1 << 10, 0, 1 << 11},
		{1<<10 + 7, 7, 7 + 1<<11},
		{1 << 20, 1<<14 - 1, 1 << 14},
	} {
		h := must(newHold(w, here, whole.norm(w.layout), 0, c.now, 0))
		if tr := h.tracks[0]; tr.from != c.from || h.until() != c.until || tr.word.Load() != 0 {
			t.Errorf("now %d: positions from tick %d until %d", c.now, tr.from, h.until())
		}
	}
}

// The place to ask for the next grant is two thirds of the way from now, or
// from the old end, to the new one.
func TestRaise(t *testing.T) {
	s := testScheme(t, "time=40,node=3,seq=4,rollback=1")
	h := must(newHold(s, here, Grant{From: 100, Until: 130}.norm(s.layout), 100, 40, 0))
	expect := func(what string, raised, want bool, until, soft uint64) {
		t.Helper()
		for _, tr := range h.tracks {
			if raised != want || tr.until.Load() != until || tr.end.Load() != until*16 || tr.soft.Load() != soft {
				t.Errorf("%s: raised %t, until %d, soft %d; want %t, %d, %d",
					what, raised, tr.until.Load(), tr.soft.Load(), want, until, soft)
			}
		}
	}
	expect("at a start before the grant", true, true, 30, 20)
	expect("to the same end", h.raiseEnd(130, 126), false, 30, 20)
	expect("to a lower end", h.raiseEnd(129, 126), false, 30, 20)
	expect("to an end before the grant", h.raiseEnd(50, 126), false, 30, 20)
	expect("while now is before the old end", h.raiseEnd(160, 126), true, 60, 50)
	expect("while now is after the old end", h.raiseEnd(190, 169), true, 90, 83)
	expect("to an end that has passed", h.raiseEnd(220, 500), true, 120, 120)
}

// The first tick of which nothing was taken counts all rollback values, no
// position above the end, and stays what it was.
func TestSeal(t *testing.T) {
	s := testScheme(t, "time=40,node=3,seq=4,rollback=1")
	for _, c := range []struct {
		start        int64
		first, other uint64 // positions taken of each rollback value
		want         int64
	}{
		{100, 0, 0, 100},
		{105, 5 * 16, 5 * 16, 105},
		{105, 5*16 + 1, 5 * 16, 106},
		{100, 16, 0, 101},
		{100, 17, 0, 102},
		{100, 1, 33, 103},
		{100, 33, 1, 103},
		{100, 30 * 16, 0, 130},
		{100, 50 * 16, 0, 130},
	} {
		h := must(newHold(s, here, Grant{From: 100, Until: 130}.norm(s.layout), c.start, 100, 0))
		h.tracks[0].word.Store(c.first)
		h.tracks[1].word.Store(c.other)
		if used := h.seal(); used != c.want || !h.sealed() || !h.gone.Load() {
			t.Errorf("%+v: used until %d", c, used)
		}
		if used := h.seal(); used != c.want {
			t.Errorf("%+v: used until %d when sealed again", c, used)
		}
	}
}
