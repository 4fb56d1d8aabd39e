package randflake

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"testing"
	"weak"

	"github.com/snowfence/snowfence"
)

// noon is a second in the middle of the leases of these tests.
const noon = RANDFLAKE_EPOCH_OFFSET + 12*3600

// secretOf returns a secret that no other test has: what was used is that of the process.
func secretOf(t testing.TB, more ...any) []byte {
	sum := sha256.Sum256([]byte(fmt.Sprint(unique, t.Name(), more)))
	return sum[:16]
}

var unique = rand.Text()

// generator returns a generator whose clock is *now.
func generator(t testing.TB, node, from, to int64, now *int64, more ...any) *Generator {
	t.Helper()
	g, err := NewGenerator(node, from, to, secretOf(t, more...))
	if err != nil {
		t.Fatal(err)
	}
	g.TimeSource = func() int64 { return *now }
	return g
}

// made is an ID that a test may have once.
type made struct{ second, node, sequence int64 }

func generate(t testing.TB, g *Generator) made {
	t.Helper()
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	second, node, sequence, err := g.Inspect(id)
	if err != nil {
		t.Fatal(err)
	}
	return made{second, node, sequence}
}

func refuses(t testing.TB, g *Generator, want error) {
	t.Helper()
	if id, err := g.Generate(); err != want || id != 0 {
		t.Fatalf("%d, %v; want %v", id, err, want)
	}
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/randflake.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Secret    string `json:"secret"`
		Node      int64  `json:"node_id"`
		Start     int64  `json:"lease_start"`
		End       int64  `json:"lease_end"`
		Timestamp int64  `json:"timestamp"`
		Sequence  int64  `json:"sequence"`
		ID        string `json:"encrypted_id"`
		Text      string `json:"encoded_id"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err, len(vectors))
	}
	for _, v := range vectors {
		secret, err := hex.DecodeString(v.Secret)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGenerator(v.Node, v.Start, v.End, secret)
		if err != nil {
			t.Fatal(err)
		}
		tick := v.Timestamp - RANDFLAKE_EPOCH_OFFSET
		made, err := g.scheme.Compose(snowfence.Parts{Tick: tick, Node: v.Node, Sequence: v.Sequence})
		id := int64(made)
		if strconv.FormatInt(id, 10) != v.ID || err != nil || EncodeString(id) != v.Text {
			t.Errorf("%+v: made %d, %s, %v", v, id, EncodeString(id), err)
		}
		if back, err := DecodeString(v.Text); back != id || err != nil {
			t.Errorf("%s is read as %d, %v", v.Text, back, err)
		}
		second, node, sequence, err := g.InspectString(v.Text)
		if err != nil || second != v.Timestamp || node != v.Node || sequence != v.Sequence {
			t.Errorf("%+v: read as %d, %d, %d, %v", v, second, node, sequence, err)
		}
	}
}

func TestLeaseIsClosed(t *testing.T) {
	now := int64(noon - 1)
	g := generator(t, 7, noon, noon+2, &now)
	refuses(t, g, ErrInvalidLease)
	for now = noon; now <= noon+2; now++ {
		if m := generate(t, g); m != (made{now, 7, 0}) {
			t.Errorf("at %d: %+v", now, m)
		}
	}
	refuses(t, g, ErrInvalidLease) // the second after the end
	for _, c := range []struct {
		start, end int64
		want       bool
	}{
		{noon, noon + 2, false},
		{noon, noon + 1, false},
		{noon + 1, noon + 9, false},
		{noon - 1, noon + 9, false},
		{noon, RANDFLAKE_MAX_TIMESTAMP + 1, false},
		{noon, noon + 3, true},
		{noon, noon + 3, false},
	} {
		if got := g.UpdateLease(c.start, c.end); got != c.want {
			t.Errorf("UpdateLease(%d, %d): %v", c.start-noon, c.end-noon, got)
		}
	}
	if info := g.GetLeaseInfo(); info != (LeaseInfo{7, noon, noon + 3}) {
		t.Errorf("%+v", info)
	}
	if m := generate(t, g); m.second != noon+3 {
		t.Errorf("%+v", m)
	}
	now++
	refuses(t, g, ErrInvalidLease)
	if !g.UpdateLease(noon, RANDFLAKE_MAX_TIMESTAMP) {
		t.Error("the last second of all is refused")
	}
	now = RANDFLAKE_MAX_TIMESTAMP
	if m := generate(t, g); m != (made{now, 7, 0}) {
		t.Errorf("%+v", m)
	}
}

// The original begins the sequence anew in the second in which it ran out.
func TestSecondIsUsedUp(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+10, &now)
	var seen [RANDFLAKE_MAX_SEQUENCE + 1]bool
	for range seen {
		m := generate(t, g)
		if m.second != now || seen[m.sequence] {
			t.Fatalf("%+v, twice: %v", m, seen[m.sequence])
		}
		seen[m.sequence] = true
	}
	for range 3 {
		refuses(t, g, ErrResourceExhausted)
	}
	now++
	if m := generate(t, g); m != (made{noon + 1, 7, 0}) {
		t.Errorf("%+v", m)
	}
}

// The original makes IDs of the earlier second again.
func TestClockGoesBack(t *testing.T) {
	now := int64(noon + 5)
	g := generator(t, 7, noon, noon+10, &now)
	if m := generate(t, g); m.sequence != 0 {
		t.Errorf("%+v", m)
	}
	for range 1000 {
		now = noon + 3
		refuses(t, g, ErrConsistencyViolation)
		now = noon + 5
		generate(t, g) // what is left of the second is not lost
	}
	now = noon - 1
	refuses(t, g, ErrInvalidLease) // as there: the lease comes first
	now = noon + 5
	for {
		if _, err := g.Generate(); err != nil {
			break
		}
	}
	refuses(t, g, ErrResourceExhausted)
	now = noon + 4
	refuses(t, g, ErrConsistencyViolation) // also when the later second is used up
	now = noon + 6
	if m := generate(t, g); m != (made{noon + 6, 7, 0}) {
		t.Errorf("%+v", m)
	}
	now = noon + 4
	refuses(t, g, ErrConsistencyViolation) // also when only one ID was made since
}

// The original gives two generators of one node the same IDs.
func TestGeneratorsOfOneNodeShareWhatWasUsed(t *testing.T) {
	now := int64(noon)
	a := generator(t, 7, noon, noon+10, &now)
	seen := map[made]bool{}
	take := func(g *Generator) made {
		m := generate(t, g)
		if seen[m] {
			t.Fatalf("%+v twice", m)
		}
		seen[m] = true
		return m
	}
	take(a)
	b := generator(t, 7, noon, noon+10, &now)
	for range 1000 {
		take(a)
		take(b)
	}
	if !a.UpdateLease(noon, noon+20) {
		t.Error("the lease is not raised")
	}
	now = noon + 15
	take(a)
	take(b) // the lease is that of all who share

	// Another lease takes the node when it has begun, and begins in the next second.
	c := generator(t, 7, noon+16, noon+30, &now)
	refuses(t, c, ErrInvalidLease)
	take(a)
	now++
	take(a)
	refuses(t, c, ErrConsistencyViolation)
	refuses(t, a, snowfence.ErrClosed)
	refuses(t, b, snowfence.ErrClosed)
	now++
	if m := take(c); m != (made{noon + 17, 7, 0}) {
		t.Errorf("%+v", m)
	}
	// One that is over takes nothing.
	refuses(t, generator(t, 7, noon, noon+16, &now), ErrInvalidLease)
	take(c)

	now = noon + 17
	if m := generate(t, generator(t, 8, noon, noon+20, &now)); m != (made{noon + 17, 8, 0}) {
		t.Errorf("another node shares what was used: %+v", m)
	}
	now = noon
	if m := generate(t, generator(t, 7, noon, noon+20, &now, "another")); m != (made{noon, 7, 0}) {
		t.Errorf("another secret shares what was used: %+v", m)
	}
}

func TestUsedOutlivesTheGenerator(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+10, &now)
	for range 1000 {
		generate(t, g)
	}
	gone := weak.Make(g)
	g = nil
	for gone.Value() != nil {
		runtime.GC()
	}
	g = generator(t, 7, noon, noon+10, &now)
	for {
		id, err := g.Generate()
		if err == nil {
			if _, _, sequence, _ := g.Inspect(id); sequence < 1000 {
				t.Errorf("%d was made before", sequence)
			}
			break
		}
		if err != ErrConsistencyViolation || now > noon+1 {
			t.Fatal(now-noon, err)
		}
		if now++; now == noon+1 {
			if m := generate(t, g); m.second != noon+1 {
				t.Errorf("%+v", m)
			}
			break
		}
	}
}

func TestClose(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+10, &now)
	other := generator(t, 7, noon, noon+10, &now)
	for range 9 {
		generate(t, g) // it has more at hand
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, now = range []int64{noon, noon + 11, noon + 1} {
		refuses(t, g, snowfence.ErrClosed)
	}
	generate(t, other)
}

// A Generator that nobody made refuses, as in the original: a nil pointer would end the program.
func TestZeroGenerator(t *testing.T) {
	var g Generator
	if id, err := g.Generate(); err != ErrInvalidLease {
		t.Errorf("Generate: %d, %v", id, err)
	}
	if text, err := g.GenerateString(); err != ErrInvalidLease {
		t.Errorf("GenerateString: %q, %v", text, err)
	}
	if id, err := g.GenerateContext(t.Context()); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("GenerateContext: %d, %v", id, err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestTimeSourceOfAnything(t *testing.T) {
	var now int64
	g := generator(t, 7, RANDFLAKE_EPOCH_OFFSET, RANDFLAKE_MAX_TIMESTAMP, &now)
	for _, now = range []int64{
		math.MinInt64, -1, 0, RANDFLAKE_EPOCH_OFFSET - 1, RANDFLAKE_MAX_TIMESTAMP + 1, math.MaxInt64,
	} {
		refuses(t, g, ErrInvalidLease)
	}
	now = RANDFLAKE_EPOCH_OFFSET
	if m := generate(t, g); m != (made{RANDFLAKE_EPOCH_OFFSET, 7, 0}) {
		t.Errorf("%+v", m)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	g, err := NewGenerator(7, RANDFLAKE_EPOCH_OFFSET, RANDFLAKE_MAX_TIMESTAMP, secretOf(t))
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(10000, func() {
		if _, err := g.Generate(); err != nil && !errors.Is(err, ErrResourceExhausted) {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations an ID", n)
	}
}
