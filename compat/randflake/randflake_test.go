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
	"sync"
	"testing"
	"weak"

	"github.com/snowfence/snowfence"
)

// noon is a second in the middle of the leases of these tests.
const noon = RANDFLAKE_EPOCH_OFFSET + 12*3600

// secrets has a random text for each run of a test.
var secrets sync.Map

// secretOf returns a secret that no other run of a test has: positions are those of the process.
func secretOf(t testing.TB, more ...any) []byte {
	run, known := secrets.LoadOrStore(t, rand.Text())
	if !known {
		t.Cleanup(func() { secrets.Delete(t) })
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(run, more)))
	return sum[:16]
}

// generator returns a generator whose clock is *now.
func generator(t testing.TB, node, from, to int64, now *int64) *Generator {
	t.Helper()
	g, err := NewGenerator(node, from, to, secretOf(t))
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

// leave uses up the second now but for a few sequence numbers, of which no generator may have
// any at hand.
func leave(g *Generator, now, left int64) {
	g.used.mu.Lock()
	defer g.used.mu.Unlock()
	g.used.next.Store((now-RANDFLAKE_EPOCH_OFFSET+1)<<RANDFLAKE_SEQUENCE_BITS - left)
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
		g.TimeSource = func() int64 { return v.Timestamp }
		g.used.next.Store((v.Timestamp-RANDFLAKE_EPOCH_OFFSET)<<RANDFLAKE_SEQUENCE_BITS + v.Sequence)
		id, err := g.Generate()
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

func TestUpdateLeaseByMany(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon, &now)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range int64(1000) {
				g.UpdateLease(noon, noon+i)
				if end := g.GetLeaseInfo().LeaseEnd; end < noon+i {
					t.Errorf("the lease ends %d after noon, and was raised to %d", end-noon, i)
				}
			}
		})
	}
	all.Wait()
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
	leave(g, now+1, 1)
	now++
	if m := generate(t, g); m != (made{noon + 2, 7, RANDFLAKE_MAX_SEQUENCE}) {
		t.Errorf("%+v", m)
	}
	refuses(t, g, ErrResourceExhausted)
}

// The original makes IDs of the earlier second again.
func TestClockGoesBack(t *testing.T) {
	now := int64(noon + 5)
	g := generator(t, 7, noon, noon+10, &now)
	if m := generate(t, g); m.sequence != 0 {
		t.Errorf("%+v", m)
	}
	for range 1000 {
		now = noon + 4
		refuses(t, g, ErrConsistencyViolation)
		now = noon + 5
		generate(t, g) // what is left of the second is not lost
	}
	now = noon - 1
	refuses(t, g, ErrInvalidLease) // as there: the lease comes first
	now = noon + 5
	leave(g, now, 0)
	for {
		if _, err := g.Generate(); err != nil {
			break // what it had at hand is given out
		}
	}
	refuses(t, g, ErrResourceExhausted)
	now = noon + 4
	refuses(t, g, ErrConsistencyViolation) // also when the later second is used up
	now = noon + 6
	if m := generate(t, g); m != (made{noon + 6, 7, 0}) {
		t.Errorf("%+v", m)
	}
	now = noon + 5
	refuses(t, g, ErrConsistencyViolation) // also when only one ID was made since
}

// The original gives two generators of one node the same IDs.
func TestGeneratorsOfOneNodeShareWhatWasUsed(t *testing.T) {
	now := int64(noon)
	a := generator(t, 7, noon-100, noon+10, &now)
	b := generator(t, 7, noon, noon+20, &now)
	seen := map[made]bool{}
	take := func(g *Generator) made {
		m := generate(t, g)
		if seen[m] {
			t.Fatalf("%+v twice", m)
		}
		seen[m] = true
		return m
	}
	for range 1000 {
		take(a)
		take(b)
	}
	now++
	take(b)
	now--
	refuses(t, a, ErrConsistencyViolation) // it has IDs of this second at hand, but time went on
	now++
	take(a)
	now = noon + 15
	refuses(t, a, ErrInvalidLease)
	take(b)
	if !a.UpdateLease(noon-100, noon+20) {
		t.Error("the lease is not raised")
	}
	take(a)

	c := generator(t, 8, noon, noon+20, &now)
	now = noon
	if m := generate(t, c); m != (made{noon, 8, 0}) {
		t.Errorf("another node shares what was used: %+v", m)
	}
	d, err := NewGenerator(7, noon, noon+20, secretOf(t, "another"))
	if err != nil {
		t.Fatal(err)
	}
	d.TimeSource = c.TimeSource
	if m := generate(t, d); m != (made{noon, 7, 0}) {
		t.Errorf("another secret shares what was used: %+v", m)
	}
}

// Somebody made a batch since the caller looked. It is used in its own second alone, and not
// when another generator is in a later one.
func TestBatchOfSomebodyElse(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+10, &now)
	other := generator(t, 7, noon, noon+10, &now)
	check := func(at int64, want error) {
		t.Helper()
		id, err := g.next(at, 0)
		if second, _, _, _ := g.Inspect(id); err != want || err == nil && second != at {
			t.Errorf("at %d: an ID of %d, %v", at-noon, second-noon, err)
		}
	}
	for range 4 {
		generate(t, g) // it has three more at hand
	}
	check(noon, nil)
	if b := g.batch.Load(); b.next.Load() != 2 || len(b.ids) != 4 {
		t.Errorf("%d of %d are used", b.next.Load(), len(b.ids))
	}
	check(noon+1, nil)
	check(noon, ErrConsistencyViolation)
	now = noon + 2
	generate(t, other)
	check(noon+1, ErrConsistencyViolation)
}

func TestBatchesHaveTheSizeThatFits(t *testing.T) {
	now := int64(noon)
	g := generator(t, 7, noon, noon+100, &now)
	for range 1000 {
		generate(t, g)
	}
	if n := len(g.batch.Load().ids); n != batchSize {
		t.Errorf("%d in a busy second", n)
	}
	for range 20 {
		now++
		generate(t, g)
	}
	if n := len(g.batch.Load().ids); n > 2 {
		t.Errorf("%d when there is one a second", n)
	}
}

// A second is shared to the last sequence number.
func TestSecondIsSharedWhole(t *testing.T) {
	now := int64(noon)
	var all []*Generator
	for range 5 {
		all = append(all, generator(t, 7, noon, noon, &now))
	}
	var seen [RANDFLAKE_MAX_SEQUENCE + 1]bool
	count := 0
	for len(all) > 0 {
		for i, g := range all {
			id, err := g.Generate()
			if err == ErrResourceExhausted {
				all = append(all[:i:i], all[i+1:]...)
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _, sequence, _ := g.Inspect(id)
			if seen[sequence] {
				t.Fatalf("%d twice", sequence)
			}
			seen[sequence] = true
			count++
		}
	}
	if count != len(seen) {
		t.Errorf("%d IDs in a second", count)
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
	if m := generate(t, g); m.second == noon && m.sequence < 1000 {
		t.Errorf("%+v was made before", m)
	}
	now--
	refuses(t, generator(t, 7, noon-10, noon, &now), ErrConsistencyViolation)
}

func TestManyGeneratorsInBoundedMemory(t *testing.T) {
	var r registry
	for i := range int64(300_000) {
		r.of(1, i%(1<<14))
	}
	if len(r.nodes) != 1<<14 {
		t.Errorf("%d positions", len(r.nodes))
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
	refuses(t, g, snowfence.ErrClosed)
	now = noon + 11
	refuses(t, g, snowfence.ErrClosed)
	now = noon + 1
	refuses(t, g, snowfence.ErrClosed)
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

func TestRefusals(t *testing.T) {
	secret := make([]byte, 16)
	const start, end = RANDFLAKE_EPOCH_OFFSET, RANDFLAKE_MAX_TIMESTAMP
	for _, c := range []struct {
		node, start, end int64
		secret           []byte
		want             error
	}{
		{0, start, start, secret, nil},
		{RANDFLAKE_MAX_NODE, end, end, secret, nil},
		{1, start, end, secret, nil},
		{-1, start, end, secret, ErrInvalidNode},
		{RANDFLAKE_MAX_NODE + 1, start, end, secret, ErrInvalidNode},
		{1, start - 1, end, secret, ErrInvalidLease},
		{1, start, end + 1, secret, ErrRandflakeDead},
		{1, start + 1, start, secret, ErrInvalidLease},
		{1, start, end, secret[:15], ErrInvalidSecret},
		{1, start, end, append(secret, 0), ErrInvalidSecret},
		{1, start, end, nil, ErrInvalidSecret},
		// The first that is wrong, in the order of the original.
		{-1, start + 1, start, nil, ErrInvalidLease},
		{-1, start - 1, end + 1, nil, ErrInvalidNode},
		{1, start - 1, end + 1, nil, ErrInvalidLease},
		{1, start, end + 1, nil, ErrRandflakeDead},
		{1, math.MinInt64, math.MaxInt64, secret, ErrInvalidLease},
	} {
		if g, err := NewGenerator(c.node, c.start, c.end, c.secret); err != c.want || (g == nil) != (err != nil) {
			t.Errorf("%+v: %v", c, err)
		}
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

// Each Generate reads the clock of the program once.
func TestTimeSourceIsReadAtEachCall(t *testing.T) {
	reads := 0
	g := generator(t, 7, noon, noon+10, new(int64))
	g.TimeSource = func() int64 { reads++; return noon }
	for range 5000 {
		generate(t, g)
	}
	if reads != 5000 {
		t.Errorf("read %d times for 5000 IDs", reads)
	}
	g.TimeSource = func() int64 { reads++; return noon - 1 }
	reads = 0
	refuses(t, g, ErrInvalidLease)
	if reads != 1 {
		t.Errorf("read %d times", reads)
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
