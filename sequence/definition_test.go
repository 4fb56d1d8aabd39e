package sequence

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		d                  Definition
		start, step, max   int64
		count              int64
		minRange, maxRange int64
	}{
		{Definition{}, 1, 1, 1<<53 - 1, 1<<53 - 1, 1000, 1_000_000},
		{Definition{Start: new(int64(0))}, 0, 1, 1<<53 - 1, 1 << 53, 1000, 1_000_000},
		{Definition{Start: new(int64(1<<53 - 1))}, 1<<53 - 1, 1, 1<<53 - 1, 1, 1000, 1_000_000},
		{Definition{Start: new(int64(1 << 53))}, 1 << 53, 1, math.MaxInt64, math.MaxInt64 - 1<<53 + 1, 1000, 1_000_000},
		{Definition{Step: -1}, 1, -1, -(1<<53 - 1), 1<<53 + 1, 1000, 1_000_000},
		{Definition{Start: new(int64(-(1<<53 - 1))), Step: -2}, -(1<<53 - 1), -2, -(1<<53 - 1), 1, 1000, 1_000_000},
		{Definition{Start: new(int64(-1 << 53)), Step: -1}, -1 << 53, -1, math.MinInt64, math.MaxInt64 - 1<<53 + 2, 1000, 1_000_000},
		{Definition{Step: 10, Max: new(int64(100))}, 1, 10, 100, 10, 1000, 1_000_000},
		{Definition{MaxRange: 10}, 1, 1, 1<<53 - 1, 1<<53 - 1, 10, 10},
		{Definition{MaxRange: 5000}, 1, 1, 1<<53 - 1, 1<<53 - 1, 1000, 5000},
		{Definition{MinRange: 7}, 1, 1, 1<<53 - 1, 1<<53 - 1, 7, 1_000_000},
		{Definition{MinRange: 2_000_000}, 1, 1, 1<<53 - 1, 1<<53 - 1, 2_000_000, 2_000_000},
	} {
		d, way, err := c.d.withDefaults()
		if err != nil {
			t.Errorf("%+v: %v", c.d, err)
			continue
		}
		if *d.Start != c.start || d.Step != c.step || *d.Max != c.max || way.count != c.count ||
			d.MinRange != c.minRange || d.MaxRange != c.maxRange || d.Mode != Fast {
			t.Errorf("%+v: start %d, step %d, max %d, %d numbers, ranges %d to %d, %s; want %+v", c.d, *d.Start, d.Step,
				*d.Max, way.count, d.MinRange, d.MaxRange, d.Mode, c)
		}
		again, _, err := d.withDefaults()
		if different := again.firstDifference(d, d); err != nil || different != "" {
			t.Errorf("%+v is not the same when it is completed again: %s, %v", d, different, err)
		}
	}
}

func TestDefinitionsThatAreRefused(t *testing.T) {
	for what, d := range map[string]Definition{
		"mode":                      {Mode: "slow"},
		"max before start":          {Max: new(int64(0))},
		"max after start, downward": {Step: -1, Max: new(int64(2))},
		"too many numbers":          {Start: new(int64(math.MinInt64)), Max: new(int64(math.MaxInt64))},
		"one number too many":       {Start: new(int64(0)), Max: new(int64(math.MaxInt64))},
		"negative range":            {MinRange: -1},
		"range upside down":         {MinRange: 10, MaxRange: 9},
		"range too large":           {MaxRange: 1_000_000_001},
		"action after a failover":   {AfterFailover: -2},
	} {
		if _, _, err := d.withDefaults(); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, d := range map[string]Definition{
		"as many as can be":         {Max: new(int64(math.MaxInt64))},
		"the widest":                {Start: new(int64(math.MinInt64)), Step: 2, Max: new(int64(math.MaxInt64 - 2))},
		"the widest, downward":      {Start: new(int64(math.MaxInt64)), Step: -3, Max: new(int64(math.MinInt64))},
		"the longest step":          {Start: new(int64(math.MaxInt64)), Step: math.MinInt64, Max: new(int64(math.MinInt64))},
		"the largest range":         {MaxRange: 1_000_000_000},
		"a range of one":            {MinRange: 1, MaxRange: 1},
		"trust":                     {AfterFailover: Trust},
		"one number, start is max":  {Start: new(int64(5)), Max: new(int64(5))},
		"one number, downward, too": {Start: new(int64(5)), Step: -1, Max: new(int64(5))},
	} {
		if _, _, err := d.withDefaults(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Numbers are right at both ends of an int64, and the ordinal of a number
// is the first one that is not before it.
func TestNumbersAndOrdinals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edge := func() int64 {
		n := int64(r.Uint64()) >> r.IntN(64)
		return []int64{n, math.MaxInt64 - n&1023, math.MinInt64 + n&1023}[r.IntN(3)]
	}
	tried := 0
	for range 40_000 {
		start, last, step := edge(), edge(), edge()
		_, c, err := Definition{Start: &start, Step: step, Max: &last}.withDefaults()
		if err != nil {
			continue
		}
		tried++
		number := func(ordinal int64) *big.Int { // without a bound
			n := new(big.Int).Mul(big.NewInt(c.step), big.NewInt(ordinal))
			return n.Add(n, big.NewInt(start))
		}
		beyond := func(ordinal, of int64) bool { // ordinal's number lies after of
			return number(ordinal).Cmp(big.NewInt(of)) == cmpStep(c.step)
		}
		o := int64(r.Uint64N(uint64(c.count)))
		if got := c.numberOf(o); number(o).Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%+v: ordinal %d has the number %d, want %d", c, o, got, number(o))
		}
		if beyond(c.count-1, last) || c.count < math.MaxInt64 && !beyond(c.count, last) {
			t.Fatalf("%+v: %d numbers up to %d", c, c.count, last)
		}
		of := edge()
		got := c.ordinalOf(of)
		reached := got == math.MaxInt64 || beyond(got, of) || number(got).Cmp(big.NewInt(of)) == 0
		if !reached || got > 0 && (beyond(got-1, of) || number(got-1).Cmp(big.NewInt(of)) == 0) {
			t.Fatalf("%+v: the first ordinal from %d on is not %d", c, of, got)
		}
	}
	if tried < 2_000 {
		t.Errorf("%d courses were tried", tried)
	}
	if got := plus(math.MaxInt64, 0); got != math.MaxInt64 {
		t.Errorf("the largest sum is %d", got)
	}
	if got := plus(math.MaxInt64-3, 3); got != math.MaxInt64 {
		t.Errorf("a sum that just fits is %d", got)
	}
	if got := plus(math.MaxInt64-3, 4); got != math.MaxInt64 {
		t.Errorf("a sum that does not fit is %d", got)
	}
}

func cmpStep(step int64) int {
	if step > 0 {
		return 1
	}
	return -1
}
