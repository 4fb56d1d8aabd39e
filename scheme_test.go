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
