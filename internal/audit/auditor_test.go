package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func result(t *testing.T, o Options, ids ...snowfence.ID) *Result {
	t.Helper()
	o.Limit = 20
	a := must(New(o))
	noError(t, a.Add(ids...))
	return must(a.Result(t.Context()))
}

func TestNoIDs(t *testing.T) {
	r := result(t, Options{Scheme: schemeOf("twitter")})
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

// IDs of a cipher look random from outside, and their fields and their
// order are those before encryption.
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
		l := must(snowfence.ParseLayout(c.layout))
		s := must(snowfence.NewScheme(l, c.keys...))
		const n = 20_000
		start := l.TickOf(time.Date(2026, 9, 28, 0, 0, 0, 0, time.UTC))
		var ids []snowfence.ID
		for i := range int64(n) {
			p := snowfence.Parts{Tick: start + i/10, Node: 5 + i/10%2, Sequence: i % 10}
			id := must(s.Compose(p))
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

// IDs that do not fit into memory are checked if they are in order, and
// refused if they are not.
func TestMoreThanFits(t *testing.T) {
	ids := []snowfence.ID{1, 2, 3, 3, 3, 5, 8}
	r := result(t, Options{memory: 3 * 16}, ids...)
	if r.Count != 7 || r.Distinct != 5 || r.Gaps.Missing != 3 || len(r.Duplicates.List) != 1 ||
		!slices.Equal(r.Duplicates.List[0].Positions, []int64{2, 3, 4}) {
		t.Errorf("got %+v", r)
	}
	for at := range ids[1:] { // the step back comes before or after memory is full
		a := must(New(Options{memory: 3 * 16}))
		wrong := slices.Clone(ids)
		wrong[at], wrong[at+1] = 9, 0
		var err error
		for _, id := range wrong {
			err = errors.Join(err, a.Add(id))
		}
		tests.Says(t, err, "more than 3 IDs, which are not in order", "a step back at %d", at+1)
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

func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, err := New(Options{})
	if err == nil {
		err = a.Add(2, 1)
	}
	noError(t, err)
	wantErr(t, errOf(a.Result(ctx)), context.Canceled, "")
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// Below other fields, times are in order, and IDs need not be.
func TestOrderBelowOtherFields(t *testing.T) {
	for _, spec := range []string{
		"scatter=5,time=41,node=10,seq=7", "tag=5,time=41,node=10,seq=7", "node=10,time=41,seq=12",
		"time=41,node=10,seq=12",
	} {
		s := schemeOf(spec)
		compose := func(p snowfence.Parts) snowfence.ID {
			if s.Layout().Bits(snowfence.FieldTag) == 0 {
				p.Tag = 0
			}
			if s.Layout().Bits(snowfence.FieldScatter) == 0 {
				p.Scatter = 0
			}
			return must(s.Compose(p))
		}
		var ids []snowfence.ID
		for i := range int64(100) {
			n := (100 - i) % 5
			ids = append(ids, compose(snowfence.Parts{Tick: 1000 + i, Node: 3 + n, Scatter: n, Tag: n, Sequence: n}))
		}
		late := compose(snowfence.Parts{Tick: 1005, Node: 9, Scatter: 31, Tag: 31, Sequence: 9})
		ids = append(ids, late)
		r := result(t, Options{Scheme: s}, ids...)
		if r.Order.Violations != 1 || r.Order.List[0].ID != late || r.Fields.Foreign != 0 {
			t.Errorf("%s: %+v, %+v", spec, r.Order, r.Fields)
		}
		if f := r.Fields; f.Nodes.Seen != 6 || f.Sequence != 9 || !f.First.Equal(s.Layout().TimeOf(1000)) ||
			!f.Last.Equal(s.Layout().TimeOf(1099)) {
			t.Errorf("%s: %+v", spec, f)
		}
	}
}
