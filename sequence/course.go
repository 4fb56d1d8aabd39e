package sequence

import (
	"fmt"
	"math"

	"github.com/snowfence/snowfence/lease"
)

// course is the way of the numbers: start + step × ordinal, for the
// ordinals below count. Stores count ordinals, which are never negative.
type course struct{ start, step, count int64 }

// numberOf returns the number of an ordinal below count. It may overflow on
// the way, and is right at the end, because the result fits.
func (c course) numberOf(ordinal int64) int64 { return c.start + c.step*ordinal }

// farthestNumber is the last number where none is given.
func (c course) farthestNumber() int64 {
	switch {
	case c.step > 0 && c.start <= exactInJavaScript:
		return exactInJavaScript
	case c.step > 0:
		return math.MaxInt64
	case c.start >= -exactInJavaScript:
		return -exactInJavaScript
	}
	return math.MinInt64
}

// meets reports whether two courses of one step can have a number in
// common, at any time: a max can be raised, so their ends do not count.
func (c course) meets(o course) bool {
	apart := uint64(max(c.start, o.start)) - uint64(min(c.start, o.start))
	return apart%c.stride() == 0
}

// stride is the step without its sign, which an int64 may not hold.
func (c course) stride() uint64 {
	if c.step > 0 {
		return uint64(c.step)
	}
	return -uint64(c.step)
}

// upTo returns the course that ends at a number or before it.
func (c course) upTo(last int64) (course, error) {
	far, after := c.distanceTo(last)
	steps := far / c.stride()
	switch {
	case !after:
		return c, fmt.Errorf("max %d lies before start %d in the direction of step %d: no number is left (%w)",
			last, c.start, c.step, lease.ErrInvalid)
	case steps >= math.MaxInt64:
		return c, fmt.Errorf("from start %d to max %d are more than 2^63 − 1 numbers: use a nearer max (%w)",
			c.start, last, lease.ErrInvalid)
	}
	c.count = int64(steps) + 1
	return c, nil
}

// distanceTo returns how far a number lies after the start, and false if it
// lies before.
func (c course) distanceTo(number int64) (uint64, bool) {
	if c.step > 0 {
		return uint64(number) - uint64(c.start), number >= c.start
	}
	return uint64(c.start) - uint64(number), number <= c.start
}

// ordinalOf returns the first ordinal with the given number or a later one.
func (c course) ordinalOf(number int64) int64 {
	far, after := c.distanceTo(number)
	if !after {
		return 0
	}
	steps := far / c.stride()
	if far%c.stride() != 0 {
		steps++
	}
	return int64(min(steps, math.MaxInt64))
}

// plus adds ordinals, none of them negative, as far as an int64 goes.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
