package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

func result(t *testing.T, o Options, ids ...snowfence.ID) *Result {
	t.Helper()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Add(ids...); err != nil {
		t.Fatal(err)
	}
	r, err := a.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoIDs(t *testing.T) {
	r := result(t, Options{Scheme: schemeOf(t, "twitter")})
	if r.Count != 0 || r.Fields != nil || len(r.Evenness) > 0 {
		t.Errorf("got %+v", r)
	}
}

func TestOneID(t *testing.T) {
	for _, id := range []snowfence.ID{0, 1, -1, 1 << 62, -1 << 63} {
		r := result(t, Options{}, id)
		if r.Count != 1 || r.Distinct != 1 || r.Lowest != id || r.Highest != id || r.Gaps.Count != 0 ||
			len(r.Evenness) > 0 {
			t.Errorf("%d: %+v", id, r)
		}
	}
}

// Random IDs look random, and other ones do not.
func TestEvenness(t *testing.T) {
	const n = 500_000
	random := rand.New(rand.NewChaCha8([32]byte{1}))
	for _, c := range []struct {
		name string
		next func(i int) uint64
		high int
		even bool
	}{
		{"random", func(int) uint64 { return random.Uint64() }, 56, true},
		{"random and positive", func(int) uint64 { return random.Uint64() >> 1 }, 55, true},
		{"safe for JavaScript", func(int) uint64 { return random.Uint64() >> 11 }, 45, true},
		{"counting", func(i int) uint64 { return uint64(i) }, 11, false},
		{"one bit too often", func(int) uint64 { return random.Uint64() | random.Uint64N(64)>>5<<30 }, 56, false},
		{"even bits, too evenly", func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }, 56, false},
	} {
		ids := make([]snowfence.ID, n)
		for i := range ids {
			ids[i] = snowfence.ID(c.next(i))
		}
		e := result(t, Options{}, ids...).Evenness
		if len(e) != 3 || e[0].Lowest != c.high || even(e, 1e-6) != c.even {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

func even(list []Evenness, alpha float64) bool {
	return !slices.ContainsFunc(list, func(e Evenness) bool { return !e.Even(alpha) })
}

// IDs of a cipher look random from outside, and their fields and their order
// are those before encryption.
func TestEncrypted(t *testing.T) {
	key, old := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	for _, c := range []struct {
		layout string
		keys   []*snowfence.Secret
		high   int
	}{
		{"randflake", []*snowfence.Secret{key}, 56},
		{"time=41,node=10,seq=12,cipher=ff1", []*snowfence.Secret{key}, 55},
		{"key=2,time=39,node=10,seq=12,cipher=ff1", []*snowfence.Secret{old, key}, 53},
	} {
		l, err := snowfence.ParseLayout(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snowfence.NewScheme(l, c.keys...)
		if err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		start := l.TickOf(time.Date(2026, 9, 28, 0, 0, 0, 0, time.UTC))
		var ids []snowfence.ID
		for i := range int64(n) {
			p := snowfence.Parts{Tick: start + i/10, Node: 5 + i/10%2, Sequence: i % 10}
			id, err := s.Compose(p)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		ids[9_000], ids[15_000] = ids[8_000], ids[15_001]
		r := result(t, Options{Scheme: s}, ids...)
		if len(r.Evenness) != 3 || r.Evenness[0].Lowest != c.high || !even(r.Evenness, 1e-9) {
			t.Errorf("%s: %+v", c.layout, r.Evenness)
		}
		if r.Order.Violations != 1 || r.Order.List[0] != (Step{Position: 9_000, Before: ids[8_999], ID: ids[8_000]}) {
			t.Errorf("%s: order %+v", c.layout, r.Order)
		}
		if r.Duplicates.IDs != 2 || !slices.ContainsFunc(r.Duplicates.List, func(d Duplicate) bool {
			return d.ID == ids[8_000] && slices.Equal(d.Positions, []int64{8_000, 9_000})
		}) {
			t.Errorf("%s: duplicates %+v", c.layout, r.Duplicates)
		}
		if f := r.Fields; f.Nodes.Seen != 2 || f.Sequence != 9 ||
			!f.First.Equal(l.TimeOf(start)) || !f.Last.Equal(l.TimeOf(start+n/10-1)) {
			t.Errorf("%s: fields %+v", c.layout, f)
		}
	}
}

// Some IDs more than fit into the least memory, so that a real file is written,
// sorted and removed.
func TestLeastMemory(t *testing.T) {
	dir := t.TempDir()
	a, err := New(Options{Memory: minMemory, TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	const n = 5_000_000
	ids := make([]snowfence.ID, n)
	for i := range ids {
		ids[i] = snowfence.ID(r.Uint64())
	}
	ids[n-1] = ids[12345]
	if err := a.Add(ids...); err != nil {
		t.Fatal(err)
	}
	got, err := a.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Distinct != n-1 || len(got.Duplicates.List) != 1 ||
		!slices.Equal(got.Duplicates.List[0].Positions, []int64{12345, n - 1}) {
		t.Errorf("%d distinct, %+v", got.Distinct, got.Duplicates)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The probabilities are as of the incomplete gamma function.
func TestTails(t *testing.T) {
	for x, want := range map[float64]float64{
		257.772: 0.439671, 312.662: 0.007936, 272.508: 0.215476, 255 + 4*math.Sqrt(510): 0.000139, 0: 1,
	} {
		if got := chiSquareTail(x); math.Abs(got-want) > 1e-4 || math.Abs(got-want) > want/20 {
			t.Errorf("chi-square %v: %v, want %v", x, got, want)
		}
	}
}

func TestEndsOnce(t *testing.T) {
	a, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Add(1); !errors.Is(err, errDone) {
		t.Errorf("Add after the end: %v", err)
	}
	if _, err := a.Result(t.Context()); !errors.Is(err, errDone) {
		t.Errorf("Result after the end: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close after the end: %v", err)
	}
}

func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, err := New(Options{Progress: func(int64, int64) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range snowfence.ID(1 << 18) {
		if err := a.Add(-i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Result(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFailures(t *testing.T) {
	if _, err := New(Options{Memory: 1}); err == nil || !strings.Contains(err.Error(), "the least is") {
		t.Errorf("one byte of memory: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	a, err := newAuditor(Options{TempDir: missing, Memory: 64}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Add(make([]snowfence.ID, 100)...); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := a.Result(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the result after a failure: %v", err)
	}
}
