package snowfence

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/clock"
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
		s := testScheme(c.spec)
		c.grant.Until = s.MaxTick()
		clock := newFakeClock()
		var all []ID
		a := newGenerator(t, Config{Fence: newScript(s, c.grant), Time: clock.Now, Lead: 40})
		b := newGenerator(t, Config{Fence: newScript(s, c.grant), Time: clock.Now, Lead: 40})
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
	s := testScheme("twitter")
	g := newGenerator(t, Config{
		Fence: newScript(s, Grant{Node: 1, Until: 1 << 40}), Time: newFakeClock().Now, MaxWait: -1,
	})
	runs, err := g.Runs(t.Context(), nil, 5000)
	if !errors.Is(err, ErrExhausted) || len(runs) != 1 || runs[0].Len() != 4096 {
		t.Errorf("%v, %v: want the 4096 IDs of the tick, and that there are no more", runs, err)
	}
}

func TestRunsOfEncryptedIDs(t *testing.T) {
	s := testScheme("randflake")
	g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, Until: s.MaxTick()}), Time: newFakeClock().Now})
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
		s := testScheme(c.spec)
		clock := newFakeClock()
		c.grant.Until = s.MaxTick()
		f := newScript(s, c.grant)
		g := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: 1})
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
		clock.Advance(2 * l.Tick)
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

// The window of a tick is cut to the grant on both sides, and the lead
// moves its end alone.
func TestWindow(t *testing.T) {
	tr := &track{from: 100, span: 16}
	for until := range int64(6) {
		for tick := int64(90); tick < 112; tick++ {
			for lead := range int64(5) {
				var now, bound uint64 // counted tick by tick
				for at := int64(100); at < 100+until; at++ {
					if at < tick {
						now += 16
					}
					if at <= tick+lead {
						bound += 16
					}
				}
				if a, b := tr.window(tick, lead, uint64(until)*16); a != now || b != bound {
					t.Errorf("tick %d, lead %d, until %d: %d and %d, want %d and %d",
						tick, lead, 100+until, a, b, now, bound)
				}
			}
		}
	}
}

// What is in the way of a position says what would remove it: a grant past
// a tick, or the clock at a tick.
func TestObstacles(t *testing.T) {
	const from, span, lead, until = 100, 16, 2, 130
	s := testScheme("time=10,node=3,seq=4,tick=1s,epoch=1999-01-01")
	for _, c := range []struct {
		word   uint64
		tick   int64
		ask    bool
		after  int64
		need   int64
		wait   time.Duration
		behind bool
	}{
		{word: 30 * span, tick: 105, ask: true, after: 130},
		{word: 30*span + 17, tick: 105, ask: true, after: 131},
		{word: 30 * span, tick: 140, ask: true, after: 140},
		{word: 0, tick: 1023, ask: true, after: 1023},
		{word: sealed, tick: 105, ask: true, after: 105},
		{word: sealed + 5, tick: 105, ask: true, after: 105},
		{word: sealed, tick: -7, ask: true, after: 0},
		{word: 30*span - 1, tick: 126, need: 127, wait: time.Second},
		{word: 30*span - 1, tick: 125, need: 127, wait: 2 * time.Second, behind: true},
		{word: 20*span + 3, tick: 105, need: 118, wait: 13 * time.Second, behind: true},
		{word: 0, tick: 99, need: 98, wait: 20 * time.Microsecond, behind: true},
		{word: 0, tick: 100, need: 98, wait: 20 * time.Microsecond},
	} {
		clock := newFakeClock()
		clock.Wall = s.Layout().TimeOf(100)
		g := newGenerator(t, Config{
			Fence: newScript(s, Grant{Node: 1, From: from, Until: until}), Time: clock.Now, Lead: lead,
		})
		g.clock.Raw = true
		clock.Wall = s.Layout().TimeOf(c.tick)
		tr := g.cur.Load()
		tr.word.Store(c.word)
		now, _ := tr.window(c.tick, lead, until*span-from*span)
		got := g.obstacleOf(tr, c.tick, now, tr.end.Load())
		want := obstacle{ask: c.ask, after: c.after, need: c.need, wait: c.wait, behind: c.behind}
		if got != want {
			t.Errorf("word %d, tick %d: %+v, want %+v", c.word, c.tick, got, want)
		}
		if over := g.obstacleOf(tr, 1024, 30*span, tr.end.Load()); c.ask && !errors.Is(over.err, ErrLifetime) {
			t.Errorf("word %d: after the last tick: %+v", c.word, over)
		}
		tr.word.Store(0)
	}
}

// The fast path of a tick is open up to the soft bound, from which on every
// call asks for the next grant.
func TestPublish(t *testing.T) {
	for _, c := range []struct {
		tick  int64
		sure  int64
		bound uint64
		limit uint64
	}{
		{100, 99, 16, 16},
		{118, 99, 19 * 16, 19 * 16},
		{119, 99, 20 * 16, 20 * 16},
		{119, 99, 25 * 16, 20 * 16},
		{120, 99, 25 * 16, 7},
		{125, 99, 25 * 16, 7},
		{100, 0, 16, 7}, // the length of the tick is unknown
	} {
		tr := &track{from: 100, span: 16}
		tr.soft.Store(20)
		tr.limit.Store(7)
		tr.publish(c.tick, c.sure, c.bound)
		if tr.limit.Load() != c.limit || (tr.sure.Load() == 99) != (c.limit != 7) {
			t.Errorf("%+v: limit %d, sure %d", c, tr.limit.Load(), tr.sure.Load())
		}
	}
}

// An attempt takes what follows the word, or what follows the start of the
// tick where the word is behind: as much as it was asked for, and nothing
// at the bound or above. Whatever it takes it tells those who ask ahead.
func TestAttempt(t *testing.T) {
	const span, until = 16, 30
	s := testScheme("time=41,node=3,seq=4,epoch=1999-01-01")
	for _, c := range []struct {
		word, n    uint64
		tick, lead int64 // after the first one of the grant
		pos, count uint64
		ahead      bool // asked for the next grant
	}{
		{word: 0, n: 1, pos: 0, count: 1},
		{word: 0, n: 5, pos: 0, count: 5},
		{word: 3, n: 1, pos: 3, count: 1},
		{word: 3, n: 5, pos: 3, count: 5},
		{word: 13, n: 5, pos: 13, count: 3},
		{word: 15, n: 1, pos: 15, count: 1},
		{word: 15, n: 5, pos: 15, count: 1},
		{word: 16, n: 1},
		{word: 16, n: 5},
		{word: 19, n: 1},
		{word: 16, n: 5, lead: 1, pos: 16, count: 5},
		{word: 3, n: 1, tick: 2, pos: 32, count: 1},
		{word: 3, n: 5, tick: 2, pos: 32, count: 5},
		{word: 3, n: 50, tick: 2, pos: 32, count: 16},
		{word: 32, n: 5, tick: 2, pos: 32, count: 5},
		{word: 3, n: 1, tick: until},
		{word: 3, n: 5, tick: until},
		{word: 0, n: 20*span - 1, lead: until, pos: 0, count: 20*span - 1},
		{word: 0, n: 20 * span, lead: until, pos: 0, count: 20 * span, ahead: true},
	} {
		for _, coarse := range []bool{false, true} {
			clock := newFakeClock()
			from := s.Layout().TickOf(clock.Wall)
			f := newScript(s, Grant{Node: 1, From: from, Until: from + until})
			g := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: c.lead, Coarse: coarse, MaxWait: -1})
			g.ticking.Store(true) // no ticker: nothing else moves the word
			tr := g.cur.Load()
			tr.word.Store(c.word)
			clock.Advance(time.Duration(c.tick) * time.Millisecond)
			soft := tr.soft.Load()
			_, pos, count, why := g.takeUpTo(c.n)
			end := c.word // of what is taken
			if c.count > 0 {
				end = c.pos + c.count
			}
			right := count == c.count && (count == 0 || pos == c.pos) && (count > 0) == (why == obstacle{})
			if !right || tr.word.Load() != end {
				t.Errorf("%+v: %d from %d, %+v, and the word is %d", c, count, pos, why, tr.word.Load())
			}
			if ahead := tr.soft.Load() != soft; ahead != c.ahead {
				t.Errorf("%+v: asked ahead: %t", c, ahead)
			}
			if coarse && count > 0 && tr.pubPos.Load() != end {
				t.Errorf("%+v: the ticker is told of %d", c, tr.pubPos.Load())
			}
		}
	}
}

// A quotient that is wrong by one would be a tick of another grant, or an
// ID twice. All spans up to 10 bits and those around powers of two;
// positions around each multiple that matters, up to the highest that can
// be granted.
func TestReciprocalIsExact(t *testing.T) {
	var spans []uint64
	for d := uint64(2); d < 1<<10; d++ {
		spans = append(spans, d)
	}
	for n := 10; n <= maxSequenceBits; n++ {
		for off := uint64(1); off < 8; off++ {
			spans = append(spans, 1<<n-off, 1<<n+off, 1<<n|rand.Uint64N(1<<n))
		}
		spans = append(spans, 1<<n)
	}
	check := func(d, n uint64) {
		track := track{span: d, timeShift: 0, seqShift: 63} // the tick, and the lowest bit of the slot
		track.magic, track.magicShift = clock.Reciprocal(d)
		if got, want := uint64(track.linearID(n)), n/d+n%d<<63; got != want {
			t.Fatalf("%d / %d: %x, want %x", n, d, got, want)
		}
	}
	for _, d := range spans {
		for _, n := range []uint64{0, 1, d - 1, d, d + 1, 2*d - 1, 2 * d, maxPosition, 1<<63 - 1} {
			check(d, n)
		}
		for range 200 {
			n := rand.Uint64N(1<<63/d) * d // a multiple, below 2^63
			check(d, n)
			check(d, n+d-1)
			if n > 0 {
				check(d, n-1)
			}
		}
		last := (1<<63 - 1) / d * d // the highest multiple: where an error is largest
		check(d, last)
		check(d, last-1)
	}
}

// The IDs of a generator, one by one, are its positions taken apart by
// division.
func TestLinearIDsAreThoseOfPieces(t *testing.T) {
	for _, spec := range []string{
		"drift", "time=47,node=6,seq=10,epoch=2020-02-19T18:20:02Z,first=5",
		"time=39,seq=8,node=16,first=1,tick=10ms", "time=41,node=10,seq=12,first=7,last=9",
		"time=41,node=10,rollback=2,seq=10,last=1000",
	} {
		l := must(ParseLayout(spec))
		s := must(NewScheme(l))
		h := must(newHold(s, here, Grant{Node: 3, From: 1000, Until: s.MaxTick() + 1}.norm(s.layout), 1000, 1000, 0))
		for _, tr := range h.tracks {
			if tr.form != linear {
				t.Fatalf("%s: form %d", spec, tr.form)
			}
			for range 10_000 {
				pos := rand.Uint64N(tr.end.Load())
				if want, _, _ := tr.piece(pos, 1); tr.pieceID(pos) != want {
					t.Fatalf("%s: position %d is %d, want %d", spec, pos, tr.pieceID(pos), want)
				}
			}
		}
	}
}
