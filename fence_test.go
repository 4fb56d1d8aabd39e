package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// grant asks a fence, which has to answer.
func grant(t *testing.T, f Fence, after int64) Grant {
	t.Helper()
	return must(f.Grant(t.Context(), after))
}

// A bare number takes the first and the last node of a layout, and no other
// number.
func TestUnguardedNodes(t *testing.T) {
	s := testScheme("twitter")
	for _, node := range []int64{-1, 0, s.Nodes() - 1, s.Nodes()} {
		_, err := Unguarded(s, node).Grant(t.Context(), 0)
		if inside := node >= 0 && node < s.Nodes(); inside != (err == nil) {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// A static fence grants all ticks from the first unused one to the last of
// the layout.
func TestStaticTicks(t *testing.T) {
	s := testScheme("twitter")
	f := Unguarded(s, 3)
	last := s.MaxTick()
	if g := grant(t, f, last); g.From != 0 || g.Until != last+1 {
		t.Errorf("granted %+v, and the last tick is %d", g, last)
	}
	_, held := f.Held(last)
	if _, late := f.Held(last + 1); !held || late {
		t.Errorf("at hand at the last tick: %t, after it: %t", held, late)
	}
	wantErr(t, errOf(f.Grant(t.Context(), last+1)), ErrLifetime, "past the last tick")
	for _, used := range []int64{100, 50} { // a late word lowers nothing
		noError(t, f.Release(t.Context(), Grant{}, used))
		if g := grant(t, f, 0); g.From != 100 {
			t.Errorf("after %d was used as well, ticks from %d on are granted, not from 100", used, g.From)
		}
	}
}

// seized is a fence that takes a grant back while it hands it over.
type seized struct {
	*script
	at   int // which grant; 1 is the first, 0 means each
	asks int // grants handed over
}

func (f *seized) Grant(ctx context.Context, after int64) (Grant, error) {
	gr, err := f.script.Grant(ctx, after)
	if err == nil {
		f.asks++
	}
	if err == nil && (f.at == 0 || f.asks == f.at) {
		f.seal()
		// What is handed over is gone by now; the next one is another.
		next := gr
		next.From, next.Until = gr.Until, gr.Until+1000
		f.set(next, nil)
	}
	return gr, err
}

func (f *seized) Held(after int64) (Grant, bool) { return atHand(f, after) }

// TestRevokedBetweenBindAndInstall: a first grant that is taken back before
// the generator has it is not used, and the generator asks again, as long
// as it may wait.
func TestRevokedBetweenBindAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme("twitter")
	now := s.Layout().TickOf(clock.Wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000}), at: 1}
	g := newGenerator(t, Config{Fence: f, Time: clock.Now})
	if gr, ok := g.Grant(); !ok || gr.From != now+1000 || f.asks != 2 {
		t.Fatalf("after %d grants the generator uses %+v, %v", f.asks, gr, ok)
	}
	f = &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000})}
	_, err := New(Config{Fence: f, Time: clock.Now, MaxWait: time.Millisecond})
	var w *WaitError
	if !errors.As(err, &w) || !errors.Is(err, ErrFenced) {
		t.Errorf("the error is %v", err)
	}
}

// TestRevokedBetweenAnswerAndInstall: so is a later one, and the generator
// asks again.
func TestRevokedBetweenAnswerAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme("twitter")
	now := s.Layout().TickOf(clock.Wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1}), at: 2}
	g := newGenerator(t, Config{Fence: f, Time: clock.Now})
	take(t, g, 1)
	lost := Grant{Node: 2, From: now + 1, Until: now + 1000}
	f.set(lost, nil)
	for range 2 {
		clock.Advance(500 * s.Layout().Tick)
		id, err := g.TryNext() // asks for the next grant, and then has the one after it
		if err != nil {
			continue
		}
		if p, err := s.Decode(id); err != nil || p.Tick < lost.Until {
			t.Errorf("an ID of tick %d, of a grant to tick %d that was taken back (%v)", p.Tick, lost.Until, err)
		}
		return
	}
	t.Error("no ID of the grant after the one that was taken back")
}

// With rollback bits a step back shows in the timestamps, and every ID is
// still new: each step takes another value, until none is left whose word
// is not ahead of the clock.
func TestRollbackStampsTheTrueTime(t *testing.T) {
	s := testScheme("rollback")
	clock := newFakeClock()
	g := newGenerator(t, Config{Fence: Unguarded(s, 200), Time: clock.Now})
	var all []ID
	for round := range 4 {
		ids := take(t, g, 6)
		for i, id := range ids {
			p, _ := s.Decode(id)
			if p.Rollback != int64(round) || p.Time.UnixMilli() != clock.Wall.UnixMilli() {
				t.Fatalf("round %d, ID %d: %+v, want rollback %d at %v", round, i, p, round, clock.Wall)
			}
		}
		checkIncreasing(t, ids)
		all = append(all, ids...)
		clock.Step(-time.Second)
	}
	_, err := g.TryNext()
	if w := isReason(t, err, ErrExhausted); !w.Behind {
		t.Errorf("after as many steps back as there are values: %+v", w)
	}
	// The first value whose word is not ahead is free again, and its ticks
	// go on where they ended.
	clock.Step(time.Second + time.Millisecond)
	ids := take(t, g, 6)
	if p, _ := s.Decode(ids[0]); p.Rollback != 3 || p.Time.UnixMilli() != clock.Wall.UnixMilli() {
		t.Errorf("%+v, want rollback 3 at %v", p, clock.Wall)
	}
	all = append(all, ids...)
	clock.Step(time.Hour)
	all = append(all, take(t, g, 6)...)
	clock.Step(-time.Minute)
	ids = take(t, g, 6)
	if p, _ := s.Decode(ids[0]); p.Rollback != 0 {
		t.Errorf("%+v, want the next value", p)
	}
	checkUnique(t, append(all, ids...))
}

func TestRollbackAfterALossStartsAboveAllValues(t *testing.T) {
	s := testScheme("rollback")
	clock := newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	f := newScript(s, Grant{Node: 1, From: now - 5000, Until: now + 1000})
	g := newGenerator(t, Config{Fence: f, Time: clock.Now})
	ids := take(t, g, 5)
	clock.Step(-time.Second)
	ids = append(ids, take(t, g, 5)...)
	f.set(Grant{}, nil)
	f.seal()
	// A fence that hands the same node out again from where it began is
	// wrong, and no duplicate comes of it.
	f.set(Grant{Node: 1, From: now - 4000, Until: now + 2000}, nil)
	clock.Step(2 * time.Second)
	id := must(g.Next(t.Context()))
	clock.Step(-1500 * time.Millisecond)
	ids = append(append(ids, id), takeSome(g, 5)...)
	checkUnique(t, ids)
}

// A generator takes another rollback value where its word is a tick or more
// too far and the other's is not ahead of the clock, and only while its
// hold is not sealed and the clock is in its grant.
func TestSwitchRollback(t *testing.T) {
	const span = 16
	s := testScheme("time=40,node=3,rollback=2,seq=4")
	for name, c := range map[string]struct {
		word, next, last uint64 // of the present value, of the next one, and of the two others
		tick             int64
		want             int // by how many values it moves
	}{
		"a tick too far":               {word: 7 * span, next: 5 * span, tick: 105, want: 1},
		"less than a tick too far":     {word: 7*span - 1, next: 5 * span, tick: 105},
		"the next one is ahead":        {word: 7 * span, next: 5*span + 1, last: 5 * span, tick: 105, want: 2},
		"all are ahead":                {word: 7 * span, next: 5*span + 1, last: 5*span + 1, tick: 105},
		"at the first tick":            {word: 3 * span, tick: 100, want: 1},
		"before the first tick":        {word: 3 * span, tick: 99},
		"its word is sealed":           {word: sealed, tick: 105},
		"its word is sealed and added": {word: sealed + 3, tick: 105},
	} {
		clock := newFakeClock()
		clock.Wall = s.Layout().TimeOf(100)
		g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, From: 100, Until: 200}), Time: clock.Now})
		present := g.cur.Load()
		tracks := present.hold.tracks
		for i, word := range []uint64{c.word, c.next, c.last, c.last} {
			tracks[i].word.Store(word)
		}
		now, bound := present.window(c.tick, 0, present.end.Load())
		if moved := g.switchRollback(present, c.tick, now, bound); moved != (c.want > 0) ||
			g.cur.Load() != tracks[c.want] {
			t.Errorf("%s: moved %t", name, moved)
		}
	}
}

// takeSome returns up to n IDs from TryNext.
func takeSome(g *Generator, n int) (ids []ID) {
	for range n {
		if id, err := g.TryNext(); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

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
		{low, Grant{Until: 9, Node: 13, Nodes: 5}, 0, false},
		{"time=10,zone=2,node=3", Grant{Until: 9, Node: 7, Nodes: 2}, 0, true}, // without a sequence nothing stands between
		{"time=10,zone=2,node=3,seq=4", Grant{Until: 9, Node: 7, Nodes: 2}, 0, true},
		// 2^61 positions fit in a word, and 2^53 in a tick.
		{"time=3,seq=31,node=22", Grant{Until: 8, Nodes: 1 << 22}, 1<<8 - 1, true},
		{"time=3,seq=31,node=22", Grant{Until: 8, Nodes: 1 << 22}, 1 << 8, false},
		{"time=3,node=23,seq=31", Grant{Until: 8, Nodes: 1<<22 + 1}, 0, false},
		{"time=3,node=32,seq=29", Grant{Until: 8, Nodes: 1 << 32}, 0, false},
	} {
		s := testScheme(c.spec)
		h, err := newHold(s, here, c.grant.norm(s.layout), c.grant.From, c.grant.From, c.lead)
		if (err == nil) != c.ok {
			t.Errorf("%s, %+v, lead %d: %v", c.spec, c.grant, c.lead, err)
		}
		if _, hint, ok := strings.Cut(fmt.Sprint(err), ": grant nodes from "); ok {
			var first, last int64
			_, _ = fmt.Sscanf(hint, "%d to %d only", &first, &last)
			_, err := newHold(s, here, Grant{Until: 9, Node: first, Nodes: last - first + 1}.norm(s.layout), 0, 0, 0)
			if err != nil || c.grant.Node < first || c.grant.Node > last || last-first != 7 {
				t.Errorf("%+v: the error advises nodes %d to %d: %v", c.grant, first, last, err)
			}
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
		s := testScheme(c.spec)
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
	s := testScheme("time=40,node=3,seq=4,rollback=1")
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
	w := testScheme("time=14,seq=31,node=19")
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
	s := testScheme("time=40,node=3,seq=4,rollback=1")
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
	s := testScheme("time=40,node=3,seq=4,rollback=1")
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
