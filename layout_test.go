package snowfence

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
)

func TestParseLayoutErrorsNameTheField(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", "neither a preset"},
		{"twiter", "neither a preset"},
		{"time=41,node", "field node: has no value"},
		{"node=10,seq=12,epoch=2020-01-01", "field time"},
		{"seq=12,time=41,node=10", "field sequence: must stand below the time"},
		{"rollback=2,time=41,node=10", "field rollback: must stand below the time"},
		{"time=41,scatter=5,seq=12", "field scatter: must stand above the time"},
		{"scatter=13,time=41,seq=9", "field scatter: has 13 bits, more than 12"},
		{"scatter=12,time=9,seq=42", "field scatter: has 12 bits and the sequence 42, together more than 53"},
		{"scatter=5,time=41,seq=12,cipher=ff1", "field scatter: is of no use with a cipher"},
		{"tag=5,key=2,time=39,seq=12,cipher=ff1", "field key: must be the first"},
		{"scater=5,time=41,seq=12,tagg=10", "take 4 away: scater is a part of the node here; write scatter"},
		{"tim=41,node=10,seq=12", "field time: is missing: tim is a part of the node here; write time if you mean that"},
		{"node=10,tiem=41,seq=12", "field time: is missing: tiem is a part"},
		{"key=2,timme=41,node=6,seq=12,cipher=ff1", "field time: is missing: timme is a part"},
		{"node=10,seq=12", "field time: is missing"},
		{"Time=41,node=10,seq=12", "field time: is missing: Time is a part of the node here; write time"},
		{"time=41,node=10,seq=12,epoc=2025-01-01", "field epoc: is \"2025-01-01\", not a whole number from 0 up: write epoch"},
		{"time=41,node=10,seq=12,tik=1ms", "write tick if you mean that"},
		{"time=41,node=10,seq=12,cypher=ff1", "write cipher if you mean that"},
		{"time=41,node=10,seq=12,frist=5", "take 4 away: frist is a part of the node here; write first if you mean that"},
		{"time=41,zone=10,seq=12,rack=5", "take 4 away"},
		{"time=42,node=11,seq=12", "field all: have 65 bits"},
		{"time=64", "field time: has 64 bits"},
		{"time=63", "field time: has 63 bits, more than 62"},
		{"time=1,seq=54", "field sequence: has 54 bits, more than 53"},
		{"time=41,node=10,seq=12,epoch=1899-12-31", "field epoch"},
		{"time=0,seq=3", "field time: has 0 bits"},
		{"time=41,node=-1,seq=12", "field node"},
		{"time=41,node=9999999999,seq=12", "field node"},
		{"time=41,node=10,seq=12,node=3", "field node: is given twice"},
		{"time=41,seq=12,sequence=3", "field seq: is given twice"},
		{"time=41,Node=10,seq=12", "field Node"},
		{"time=41,node=10,seq=12,epoch=yesterday", "field epoch"},
		{"time=41,node=10,seq=12,epoch=0001-01-01", "field epoch"},
		{"time=41,node=10,seq=12,epoch=1500-01-01", "field epoch"},
		{"time=41,node=10,seq=12,tick=1ns", "field tick"},
		{"time=41,node=10,seq=12,tick=-1ms", "field tick"},
		{"time=41,node=10,seq=12,tick=0s", "field tick"},
		{"time=41,node=10,seq=12,tick=soon", "field tick"},
		{"time=41,node=10,seq=12,first=4096", "field first"},
		{"time=41,node=10,seq=12,last=4096", "field last"},
		{"time=41,node=10,seq=12,first=9,last=8", "field last"},
		{"time=41,node=10,seq=12,last=0", "field last"},
		{"time=41,node=10,seq=12,order=up", "field order"},
		{"time=40,rollback=7,seq=12", "field rollback"},
		{strings.Repeat("x", 1<<16), "neither a preset"},
		{"time=41," + strings.Repeat("x", 1<<16) + "=3", "..."},
	} {
		_, err := ParseLayout(c.spec)
		if !errors.Is(err, ErrInvalidLayout) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v; want an ErrInvalidLayout with %q", c.spec, err, c.want)
		} else if len(err.Error()) > 500 {
			t.Errorf("%.60q: the error has %d bytes", c.spec, len(err.Error()))
		}
	}
}

// A program can write layouts that no spec says. Each is refused, and is
// not the one from which it differs.
func TestLayoutsOfCode(t *testing.T) {
	good := MustLayout("time=41,node=10,a-0=1,a9=1,seq=3," + strings.Repeat("x", 32) + "=1,epoch=2200-12-31")
	field := func(name string, bits int) func(*Layout) {
		return func(l *Layout) { l.Last, l.Fields = 0, append(l.Fields[:3:3], Field{name, bits}) }
	}
	for want, change := range map[string]func(*Layout){
		"field node: is given twice":       field(FieldNode, 1),
		"field tick: the spec uses":        field("tick", 1),
		"field x: has 64 bits":             field("x", 64),
		"field sequence: has -1 bits":      field(FieldSequence, -1),
		"field all: have 115 bits":         field("x", 63),
		"field : a name":                   field("", 1),
		"field x{: a name":                 field("x{", 1),
		"field a/: a name":                 field("a/", 1),
		"field -a: a name":                 field("-a", 1),
		strings.Repeat("x", 33) + ": a na": field(strings.Repeat("x", 33), 1),
		"field tick: is 999ns":             func(l *Layout) { l.Tick = 999 },
		"field epoch: is 2201":             func(l *Layout) { l.Epoch = l.Epoch.AddDate(0, 0, 1) },
		"field first: is -1":               func(l *Layout) { l.First = -1 },
		"field last: is -1; ":              func(l *Layout) { l.Last = -1 },
	} {
		l := good
		change(&l)
		err := l.Validate()
		if !errors.Is(err, ErrInvalidLayout) || !strings.Contains(err.Error(), want) || l.Equal(good) {
			t.Errorf("%s: %v: %v", l, want, err)
		}
	}
	for spec, nodes := range map[string]int64{"time=1,node=63": math.MaxInt64, "time=1,node=62": 1 << 62} {
		if n := testScheme(spec).Nodes(); n != nodes {
			t.Errorf("%s has %d nodes", spec, n)
		}
	}
	must(ParseLayout("key=16,time=10,seq=10,cipher=ff1"))
}

func TestEndOfLife(t *testing.T) {
	for _, c := range []struct {
		spec, end, negative, js string
	}{
		// Where the instants have been published: Twitter's end
		// 2080-07-10T17:30:30.208Z is its last tick, so life ends a tick
		// later; uid-generator's users ran out on 2024-11-20
		// (uid-generator#100).
		{"twitter", "2080-07-10T17:30:30.209Z", "", "2010-11-28T22:14:18.305Z"},
		{"baidu", "2024-11-20T21:24:16+08:00", "", "2016-05-22T16:49:04Z"},
		{"discord", "2154-05-15T07:35:11.104Z", "2084-09-06T15:47:35.552Z", "2015-01-25T20:31:23.648Z"},
		{"time=62,tick=1s", "9999-12-31T23:59:59Z", "", "9999-12-31T23:59:59Z"},
		{"time=53,tick=1us,epoch=2020-01-01", "2305-06-05T23:47:34.740992Z", "", ""},
		{
			"scatter=6,time=41,node=10,seq=7,epoch=2020-01-01", "2089-09-06T15:47:35.552Z", "2020-01-01T00:00:00Z",
			"2020-01-01T00:00:00Z",
		},
		{"node=9,time=41,tag=3,epoch=2020-01-01", "2089-09-06T15:47:35.552Z", "", ""},
	} {
		l := must(ParseLayout(c.spec))
		check := func(what string, got time.Time, ok bool, want string) {
			if want == "" {
				if ok {
					t.Errorf("%s: %s %v, want none", c.spec, what, got)
				}
				return
			}
			w := must(time.Parse(time.RFC3339Nano, want))
			if !ok || !got.Equal(w) {
				t.Errorf("%s: %s %v %v, want %v", c.spec, what, got, ok, w)
			}
		}
		check("end of life", l.EndOfLife(), true, c.end)
		n, ok := l.NegativeFrom()
		check("negative from", n, ok, c.negative)
		j, ok := l.JSSafeUntil()
		check("JS-safe until", j, ok, c.js)
	}
}

// anyLayout draws a valid layout of any shape.
func anyLayout(t *draw.T) Layout {
	var l Layout
	l.Epoch = time.UnixMicro(t.Range(-1e14, 7e15))
	ticks := []time.Duration{1e3, 1024, 1e4, 123457, 1e6, 1e7, 1 << 23, 1e9, 60e9}
	l.Tick = draw.One(t, ticks)
	left := 64
	field := func(name string, lo, hi int) {
		if hi = min(hi, left); hi >= lo {
			if n := t.Int(lo, hi); n > 0 {
				l.Fields = append(l.Fields, Field{name, n})
				left -= n
			}
		}
	}
	rest := []string{FieldNode, "zone", FieldRollback, FieldSequence, FieldTag}
	if t.Bool() {
		field(FieldTime, 1, maxTimeBits)
		rest = draw.Order(t, rest)
	} else { // something above it
		field(draw.One(t, []string{FieldScatter, "region", FieldTag}), 1, maxScatterBits)
		field(FieldTime, 1, maxTimeBits)
		rest = draw.Order(t, rest[:4])
	}
	for _, name := range rest {
		switch name {
		case FieldRollback:
			field(name, 0, maxRollbackBits)
		case FieldSequence:
			field(name, 0, maxSequenceBits-l.Bits(FieldScatter))
		default:
			field(name, 0, left)
		}
	}
	top := int64(1)<<l.Bits(FieldSequence) - 1
	l.First = t.Range(0, top)
	l.Last = t.Range(l.First, top)
	return l.norm()
}

func TestLayoutSpecRoundTrips(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		l := anyLayout(t)
		got, err := ParseLayout(l.String())
		if err != nil || !got.Equal(l) {
			t.Fatalf("%q reads back as %q, %v", l, got, err)
		}
	})
}

func TestTickOfAndTimeOfAgree(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		l := anyLayout(t)
		tick := t.Range(-1<<40, 1<<52)
		start := l.TimeOf(tick)
		if start.Year() >= 9999 || start.Year() <= 1 {
			return // cut to the years that can be written
		}
		if got := l.TickOf(start); got != tick {
			t.Fatalf("tick %d starts at %v, which is in tick %d", tick, start, got)
		}
		if got := l.TickOf(start.Add(-1)); got != tick-1 {
			t.Fatalf("the nanosecond before tick %d is in tick %d", tick, got)
		}
	})
}

func FuzzParseLayout(f *testing.F) {
	for _, p := range Presets() {
		f.Add(p.Name)
		f.Add(p.Layout.String())
	}
	f.Add("time=41,node=10,seq=12,order=node-last,first=5,last=9,tick=3us,epoch=2020-01-01")
	f.Fuzz(func(t *testing.T, spec string) {
		l, err := ParseLayout(spec)
		if err != nil {
			if !errors.Is(err, ErrInvalidLayout) {
				t.Fatalf("%q: %v is no ErrInvalidLayout", spec, err)
			}
			return
		}
		again, err := ParseLayout(l.String())
		if err != nil || !again.Equal(l) {
			t.Fatalf("%q reads as %q, which reads as %q, %v", spec, l, again, err)
		}
	})
}

// TestRangeAfterTheEnd checks that no ID is in a range after the end of a
// layout of 63 bits.
func TestRangeAfterTheEnd(t *testing.T) {
	s := must(NewScheme(Default()))
	end := s.Layout().EndOfLife()
	if lo, hi, err := s.Range(end, end.Add(time.Hour)); err != nil || lo < hi {
		t.Errorf("from %d up to %d, %v", lo, hi, err)
	}
}

func testScheme(spec string) *Scheme {
	l := must(ParseLayout(spec))
	var keys []*Secret
	if l.Cipher != Plain {
		keys = append(keys, must(NewSecret([]byte("0123456789abcdef"))))
	}
	return must(NewScheme(l, keys...))
}

func TestComposeRefusesWhatDoesNotFit(t *testing.T) {
	s := testScheme("rollback")
	for _, c := range []struct {
		p    Parts
		want error
	}{
		{Parts{Tick: 1 << 41}, ErrLifetime},
		{Parts{Tick: -1}, ErrLifetime},
		{Parts{Node: 256}, ErrInvalidID},
		{Parts{Node: -1}, ErrInvalidID},
		{Parts{Sequence: 4096}, ErrInvalidID},
		{Parts{Sequence: math.MinInt64}, ErrInvalidID},
		{Parts{Rollback: 4}, ErrInvalidID},
		{Parts{Tick: 1<<41 - 1, Node: 255, Sequence: 4095, Rollback: 3}, nil},
	} {
		if _, err := s.Compose(c.p); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.p, err, c.want)
		}
	}
	wantErr(t, errOf(testScheme("drift").Decode(-1)), ErrInvalidID, "a negative ID under 63 bits")
	wantErr(t, errOf(testScheme("time=20,seq=4").Decode(1<<24)), ErrInvalidID, "an ID with more bits than the layout")
}

// Nodes that differ only in their highest bits make different IDs, for
// every preset: no bit of the node is cut off.
func TestEveryNodeBitReachesTheID(t *testing.T) {
	for _, p := range Presets() {
		s := testScheme(p.Name)
		seen := map[ID]int64{}
		for bit := range s.nodeBits {
			for _, node := range []int64{0, 1 << bit} {
				id := must(s.Compose(Parts{Tick: 1, Node: node, Sequence: 0}))
				if other, ok := seen[id]; ok && other != node {
					t.Errorf("%s: nodes %d and %d make the same ID", p.Name, node, other)
				}
				seen[id] = node
			}
		}
		if len(seen) != int(s.nodeBits)+1 {
			t.Errorf("%s: %d IDs from %d nodes", p.Name, len(seen), s.nodeBits+1)
		}
	}
}

func TestNode(t *testing.T) {
	s := testScheme("twitter")
	if n, err := s.Node(3, 17); err != nil || n != 3<<5|17 {
		t.Errorf("Node(3, 17) = %d, %v", n, err)
	}
	if got := s.NodeParts(3<<5 | 17); !slices.Equal(got, []int64{3, 17}) {
		t.Errorf("NodeParts = %v", got)
	}
	if n, err := s.Node(113); err != nil || n != 113 {
		t.Errorf("Node(113) = %d, %v", n, err)
	}
	for _, parts := range [][]int64{{}, {32, 0}, {0, 32}, {-1, 0}, {1, 2, 3}, {1024}, {-1}} {
		wantErr(t, errOf(s.Node(parts...)), ErrInvalidID, "Node(%v)", parts)
	}
}

func TestRange(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		s := must(NewScheme(anyLayout(t)))
		base := s.layout.Epoch
		from := base.Add(time.Duration(t.Range(-1e12, 1e17)))
		to := from.Add(time.Duration(t.Range(0, 1e16)))
		lo, hi, err := s.Range(from, to)
		if s.layout.aboveTime() > 0 {
			if err == nil || !strings.Contains(err.Error(), "use Ranges") {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			neg, ok := s.layout.NegativeFrom()
			if ok && errors.Is(err, ErrLifetime) && from.Before(neg) && to.After(neg) {
				return
			}
			t.Fatal(err)
		}
		// Any ID whose time is near the ends must fall on the right side.
		for _, at := range []time.Time{from, to, from.Add(s.layout.Tick), to.Add(-s.layout.Tick)} {
			for d := int64(-1); d <= 1; d++ {
				tick := s.layout.TickOf(at) + d
				if tick < 0 || tick > s.MaxTick() {
					continue
				}
				for _, rest := range []uint64{0, 1<<s.timeShift - 1} {
					id := ID(uint64(tick)<<s.timeShift | rest)
					p, _ := s.Decode(id)
					in := !p.Time.Before(from) && p.Time.Before(to)
					if got := id >= lo && id < hi; got != in && id != math.MaxInt64 {
						t.Fatalf("%s: ID %d of %v: inside [%d, %d) is %v, inside [%v, %v) is %v",
							s.layout, id, p.Time, lo, hi, got, from, to, in)
					}
				}
			}
		}
	})
}

func TestRangeEdges(t *testing.T) {
	s := testScheme("twitter")
	epoch := s.layout.Epoch
	if lo, hi, err := s.Range(time.Time{}, epoch.AddDate(1000, 0, 0)); err != nil || lo != 0 || hi != math.MaxInt64 {
		t.Errorf("all of time: %d, %d, %v", lo, hi, err)
	}
	if _, _, err := s.Range(epoch.Add(1), epoch); err == nil {
		t.Error("a range that ends before it starts is no error")
	}
	d := testScheme("discord")
	neg, _ := d.layout.NegativeFrom()
	if _, _, err := d.Range(neg.Add(-time.Second), neg.Add(time.Second)); !errors.Is(err, ErrLifetime) {
		t.Errorf("over the sign bit: %v", err)
	}
	wantErr(t, errOf(d.Ranges(neg.Add(-time.Second), neg.Add(time.Second), nil)), ErrLifetime, "over the sign bit")
	lo, hi, err := d.Range(neg, neg.Add(time.Second))
	if err != nil || lo != math.MinInt64 || hi >= 0 || hi <= lo {
		t.Errorf("behind the sign bit: %d, %d, %v", lo, hi, err)
	}
	if lo, hi, err = d.Range(neg.Add(-time.Second), neg); err != nil || lo <= 0 || hi != math.MaxInt64 {
		t.Errorf("before the sign bit: %d, %d, %v", lo, hi, err)
	}
}

func FuzzComposeDecode(f *testing.F) {
	f.Add("twitter", int64(1), int64(2), int64(3))
	f.Add("discord", int64(1)<<41, int64(1023), int64(4095))
	f.Fuzz(func(t *testing.T, spec string, tick, node, seq int64) {
		l, err := ParseLayout(spec)
		if err != nil {
			return
		}
		s := must(NewScheme(l))
		id, err := s.Compose(Parts{Tick: tick, Node: node, Sequence: seq})
		if err != nil {
			return
		}
		p, err := s.Decode(id)
		if err != nil || p.Tick != tick || p.Node != node || p.Sequence != seq {
			t.Fatalf("%s: (%d, %d, %d) is %d, which is %+v, %v", l, tick, node, seq, id, p, err)
		}
	})
}

func TestNodesWith(t *testing.T) {
	parse := func(spec string) *Scheme {
		l := must(ParseLayout(spec))
		return must(NewScheme(l))
	}
	three := parse("time=41,region=2,datacenter=3,worker=5,seq=12")
	for _, c := range []struct {
		s     *Scheme
		parts map[string]int64
		want  NodeRange
		says  string
	}{
		{testScheme("twitter"), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{testScheme("twitter"), map[string]int64{"datacenter": 31}, NodeRange{992, 1024}, ""},
		{testScheme("twitter"), map[string]int64{"datacenter": 0, "worker": 0}, NodeRange{0, 1}, ""},
		{testScheme("twitter"), nil, NodeRange{0, 1024}, ""},
		{testScheme("twitter"), map[string]int64{"datacenter": 32}, NodeRange{}, "datacenter 32; its 5 bits hold 0 to 31"},
		{testScheme("twitter"), map[string]int64{"worker": 3}, NodeRange{}, "the nodes with one worker are no range in the layout time=41,datacenter=5,worker=5"},
		{testScheme("twitter"), map[string]int64{"zone": 3}, NodeRange{}, "has no part zone"},
		{three, map[string]int64{"region": 1}, NodeRange{256, 512}, ""},
		{three, map[string]int64{"region": 1, "datacenter": 2}, NodeRange{320, 352}, ""},
		{three, map[string]int64{"region": 1, "worker": 2}, NodeRange{}, "because datacenter stands above it"},
		// Fields of other kinds may stand between the parts of the node.
		{parse("time=41,datacenter=5,seq=12,worker=5"), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{parse("time=41,worker=5,datacenter=5,seq=12"), map[string]int64{"datacenter": 3}, NodeRange{}, "because worker stands above it: give worker too"},
	} {
		got, err := c.s.NodesWith(c.parts)
		if c.says == "" && (err != nil || got != c.want) ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: got %v, %v, want %v %q", c.parts, got, err, c.want, c.says)
		}
		for n := got.From; err == nil && n < got.Until; n++ {
			for i, f := range c.s.Layout().NodeParts() {
				if v, ok := c.parts[f.Name]; ok && c.s.NodeParts(n)[i] != v {
					t.Errorf("%v: node %d has %s %d", c.parts, n, f.Name, c.s.NodeParts(n)[i])
				}
			}
		}
	}
}

// Node 0 alone is a range as any other, and never means all nodes.
func TestNodeZeroAlone(t *testing.T) {
	zero := NodeRange{0, 1}
	s := testScheme("twitter")
	one := must(s.Compose(Parts{Tick: 5, Node: 1}))
	fails(t, errOf(s.Check(one, &CheckOptions{Nodes: zero})), "an ID of node 1 passes as one of node 0")
	l := s.Layout()
	a, b := must(RegionOf(l, zero)), must(RegionOf(l, NodeRange{1, 1024}))
	none, err := Meet(a, b)
	if err != nil || none != nil {
		t.Errorf("node 0 beside the others: %+v, %v", none, err)
	}
	both, err := Meet(a, a)
	if err != nil || both == nil {
		t.Errorf("node 0 beside node 0: %+v, %v", both, err)
	}
}
