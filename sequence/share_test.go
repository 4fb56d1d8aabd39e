package sequence

import (
	"errors"
	"math"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

// The classes of a sequence have all its numbers, each once.
func TestClassesHaveEachNumberOnce(t *testing.T) {
	for _, start := range []int64{1, -7, 1000} {
		for _, step := range []int64{1, 3, -2} {
			for numbers := int64(1); numbers < 30; numbers++ {
				whole, err := course{start: start, step: step}.upTo(start + step*(numbers-1))
				if err != nil {
					t.Fatal(err)
				}
				for classes := int64(1); classes <= numbers; classes++ {
					seen := map[int64]bool{}
					for class := range classes {
						c, err := whole.part(class, classes)
						if err != nil {
							t.Fatal(err)
						}
						for ordinal := range c.count {
							n := c.number(ordinal)
							if want := start + step*(class+classes*ordinal); n != want {
								t.Fatalf("ordinal %d of class %d of %d is %d, not %d", ordinal, class, classes, n, want)
							}
							if seen[n] {
								t.Fatalf("%d comes twice", n)
							}
							seen[n] = true
						}
					}
					if int64(len(seen)) != numbers {
						t.Fatalf("%d classes of %d numbers have %d", classes, numbers, len(seen))
					}
				}
			}
		}
	}
}

func TestClassesDoNotOverflow(t *testing.T) {
	for _, c := range []struct {
		whole          course
		last           int64
		class, classes int64
		want           course // the zero value where it is refused
		end            int64
	}{
		{course{start: 1, step: 1}, 10, 0, 1, course{1, 1, 10}, 10},
		{course{start: 1, step: 1}, 10, 9, 10, course{10, 10, 1}, 10},
		{course{start: 1, step: 1}, 10, 0, 11, course{}, 0},
		{course{start: 1, step: 1}, 10, 3, 3, course{}, 0},
		{course{start: 1, step: 1}, 10, -1, 3, course{}, 0},
		{course{start: 1, step: 1}, 10, 0, 0, course{}, 0},
		{course{start: 1, step: 1}, 10, 0, -1, course{}, 0},
		{course{start: 1, step: 1}, math.MaxInt64, 0, 1000, course{1, 1000, math.MaxInt64/1000 + 1}, 9223372036854775001},
		{course{start: 1, step: 1}, math.MaxInt64, 0, 1001, course{}, 0},
		{course{start: 1, step: 1 << 60}, math.MaxInt64, 6, 7, course{1 + 6<<60, 7 << 60, 1}, 1 + 6<<60},
		{course{start: 1, step: 1 << 60}, math.MaxInt64, 0, 8, course{}, 0},
		{course{start: math.MinInt64, step: math.MaxInt64}, math.MaxInt64, 1, 2, course{}, 0},
		{course{start: math.MinInt64, step: math.MaxInt64}, math.MaxInt64, 0, 1, course{math.MinInt64, math.MaxInt64, 3}, math.MaxInt64 - 1},
		{course{start: math.MinInt64, step: math.MaxInt64}, math.MaxInt64, 0, 3, course{}, 0},
		{course{start: math.MaxInt64, step: math.MinInt64}, math.MinInt64, 0, 1, course{}, 0},
		{course{start: -1, step: -1 << 60}, math.MinInt64, 6, 7, course{-1 - 6<<60, -7 << 60, 1}, -1 - 6<<60},
		{course{start: -1, step: -1 << 60}, math.MinInt64, 1, 8, course{}, 0},
		{course{start: math.MinInt64, step: 4}, math.MaxInt64, 1, 2, course{math.MinInt64 + 4, 8, 1 << 61}, math.MaxInt64 - 3},
	} {
		whole, err := c.whole.upTo(c.last)
		if err != nil {
			t.Fatal(err)
		}
		got, err := whole.part(c.class, c.classes)
		switch {
		case c.want == course{}:
			if !errors.Is(err, lease.ErrInvalid) {
				t.Errorf("class %d of %d of %+v: %+v, %v", c.class, c.classes, whole, got, err)
			}
		case err != nil || got != c.want || got.number(got.count-1) != c.end:
			t.Errorf("class %d of %d of %+v: %+v up to %d, %v, want %+v", c.class, c.classes, whole, got,
				got.number(got.count-1), err, c.want)
		}
	}
}

// A store of the beginning gives each spare class that it keeps once, and no other store gives any.
func TestSpareClasses(t *testing.T) {
	for stores := int64(1); stores < 6; stores++ {
		for classes := stores; classes < 20; classes++ {
			seen := map[int64]bool{}
			for class := range stores {
				seen[class] = true
			}
			for class := range classes {
				for given := int64(0); given <= classes; given++ {
					p := share{Class: class, Classes: classes, Stores: stores, Given: given}
					spare, ok := p.spare()
					p.Pending = true
					if _, pending := p.spare(); pending {
						t.Fatalf("%+v gives a class away", p)
					}
					if !ok {
						continue
					}
					if seen[spare] || spare >= classes {
						t.Fatalf("%+v gives class %d", p, spare)
					}
					seen[spare] = true
				}
			}
			if int64(len(seen)) != classes {
				t.Fatalf("of %d classes with %d stores, %d are used", classes, stores, len(seen))
			}
		}
	}
}
