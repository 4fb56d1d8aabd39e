// Package draw draws values for tests that check a property of many of
// them. It prefers the values at which code goes wrong: the ends of a
// range, zero, powers of two and their neighbors.
//
// It is our own because the root module requires nothing: a library for
// such tests would be in everybody's go.sum.
package draw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// T is a test with values of its own.
type T struct {
	*testing.T
	*rand.Rand
}

// Check runs f with the values of 100 seeds, with -short of 20. The name of
// a subtest has its seed, so go test -run repeats a failure.
func Check(t *testing.T, f func(*T)) {
	t.Helper()
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			f(&T{t, rand.New(rand.NewPCG(seed, 0))})
		})
		if !ok {
			return // the others would say the same
		}
	}
}

// Bool draws true or false.
func (t *T) Bool() bool { return t.Uint64()&1 == 1 }

// Range draws a number from low to high, both included. A third are ends of
// the range, zero and neighbors of powers of two; a third are short numbers
// of either sign, if the range has them.
func (t *T) Range(low, high int64) int64 {
	span := uint64(high) - uint64(low)
	var v int64
	switch t.IntN(6) {
	case 0:
		return [...]int64{low, high, low + int64(min(span, 1)), high - int64(min(span, 1))}[t.IntN(4)]
	case 1:
		v = int64(1)<<t.IntN(63) + int64(t.IntN(3)) - 1
	case 2, 3:
		v = int64(t.Uint64() >> (1 + t.IntN(63)))
	default:
		return t.within(low, span)
	}
	if t.Bool() {
		v = -v
	}
	if v < low || v > high {
		return t.within(low, span)
	}
	return v
}

// within draws evenly from low to low + span.
func (t *T) within(low int64, span uint64) int64 {
	if span == 1<<64-1 {
		return int64(t.Uint64())
	}
	return low + int64(t.Uint64N(span+1))
}

// Int is Range for an int.
func (t *T) Int(low, high int) int { return int(t.Range(int64(low), int64(high))) }

// Word draws 64 bits, as Range draws a number.
func (t *T) Word() uint64 { return uint64(t.Range(math.MinInt64, math.MaxInt64)) }

// Bytes draws low to high bytes.
func (t *T) Bytes(low, high int) []byte {
	b := make([]byte, t.Int(low, high))
	for i := range b {
		b[i] = byte(t.Word())
	}
	return b
}

// One draws an element of list.
func One[E any](t *T, list []E) E { return list[t.IntN(len(list))] }

// Order draws an order of the elements of list, in a copy.
func Order[E any](t *T, list []E) []E {
	ordered := append([]E(nil), list...)
	t.Shuffle(len(ordered), func(i, j int) { ordered[i], ordered[j] = ordered[j], ordered[i] })
	return ordered
}
