package randflake

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"weak"

	"github.com/snowfence/snowfence"
)

// noon is a second in the middle of the leases of these tests.
const noon = RANDFLAKE_EPOCH_OFFSET + 12*3600

// secretOf returns a secret that no other test has: what was used belongs
// to the process.
func secretOf(t testing.TB, more ...any) []byte {
	sum := sha256.Sum256([]byte(fmt.Sprint(unique, t.Name(), more)))
	return sum[:16]
}

var unique = rand.Text()

// generator returns a generator whose clock is *now.
func generator(t testing.TB, node, from, to int64, now *int64, more ...any) *Generator {
	t.Helper()
	g := must(NewGenerator(node, from, to, secretOf(t, more...)))
	g.TimeSource = func() int64 { return *now }
	return g
}

// made is an ID that a test may have once.
type made struct{ second, node, sequence int64 }

func generate(t testing.TB, g *Generator) made {
	t.Helper()
	id := must(g.Generate())
	second, node, sequence, err := g.Inspect(id)
	noError(t, err)
	return made{second, node, sequence}
}

func refuses(t testing.TB, g *Generator, want error) {
	t.Helper()
	if id, err := g.Generate(); err != want || id != 0 {
		t.Fatalf("%d, %v; want %v", id, err, want)
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

// Another lease takes the node when it has begun, and begins in the next
// second. One that is over takes nothing.
func TestAnotherLeaseTakesTheNode(t *testing.T) {
	now := int64(noon + 15)
	a := generator(t, 7, noon, noon+20, &now)
	generate(t, a)
	c := generator(t, 7, noon+16, noon+30, &now)
	refuses(t, c, ErrInvalidLease)
	generate(t, a)
	now++
	generate(t, a)
	refuses(t, c, ErrConsistencyViolation)
	refuses(t, a, snowfence.ErrClosed)
	now++
	if m := generate(t, c); m != (made{noon + 17, 7, 0}) {
		t.Errorf("%+v", m)
	}
	refuses(t, generator(t, 7, noon, noon+16, &now), ErrInvalidLease)
	generate(t, c)
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

func TestClose(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+10, &now)
	other := generator(t, 7, noon, noon+10, &now)
	for range 9 {
		generate(t, g) // it has more at hand
	}
	for range 2 {
		noError(t, g.Close())
	}
	for _, now = range []int64{noon, noon + 11, noon + 1} {
		refuses(t, g, snowfence.ErrClosed)
	}
	generate(t, other)
}

// A Generator without a constructor refuses, as in the original: a nil
// pointer would end the program.
func TestZeroGenerator(t *testing.T) {
	var g Generator
	if id, err := g.Generate(); err != ErrInvalidLease {
		t.Errorf("Generate: %d, %v", id, err)
	}
	if text, err := g.GenerateString(); err != ErrInvalidLease {
		t.Errorf("GenerateString: %q, %v", text, err)
	}
	wantErr(t, errOf(g.GenerateContext(t.Context())), ErrInvalidLease, "GenerateContext")
	wantErr(t, g.Close(), nil, "Close")
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
	g := must(NewGenerator(7, RANDFLAKE_EPOCH_OFFSET, RANDFLAKE_MAX_TIMESTAMP, secretOf(t)))
	n := testing.AllocsPerRun(10000, func() {
		if _, err := g.Generate(); err != nil && !errors.Is(err, ErrResourceExhausted) {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations an ID", n)
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
