package snowfence

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
)

// Range returns the half-open range of IDs with a time (of Decode) in
// [from, to), for queries such as WHERE id >= lo AND id < hi. If one span
// of time begins where another ends, so do their ranges. Range cuts times
// outside the life of the layout to that life. It returns [ErrLifetime] for
// a span that contains the instant at which IDs turn negative, because
// their signed numbers are then two ranges: ask for each. It refuses
// layouts with a field above the time: [Scheme.Ranges] is for those.
//
// The time in an ID is the start of its tick on the clock of its generator.
// It has the error of that clock, and can be ahead of it: by up to
// Config.Lead, and after the clock stepped back. Also, a row becomes
// visible when its transaction commits, later than its ID was made. So a
// query for new rows, which begins where the last one ended and ends now,
// misses some: end it earlier, by the sum of clock error, lead and longest
// transaction.
func (s *Scheme) Range(from, to time.Time) (lo, hi ID, err error) {
	a, b, err := s.ticksIn(from, to)
	if err != nil {
		return 0, 0, err
	}
	if f := s.layout.Fields[0].Name; f != FieldTime {
		return 0, 0, fmt.Errorf("snowfence: %s stands above the time in the layout %s, so a span of time has "+
			"several ranges: use Ranges", f, s.layout)
	}
	if s.layout.Width() < 64 {
		return ID(min(a<<s.timeShift, math.MaxInt64)), ID(min(b<<s.timeShift, math.MaxInt64)), nil
	}
	half := (uint64(s.MaxTick()) + 1) / 2
	switch {
	case b < half || a >= half: // 2^64 is 0 here, which is above every negative ID
		return ID(a << s.timeShift), ID(b << s.timeShift), nil
	case b == half: // hi would be 2^63
		return ID(a << s.timeShift), math.MaxInt64, nil
	}
	return 0, 0, fmt.Errorf("%w: IDs turn negative at %s, inside the range; "+
		"ask for the times before and after it separately", ErrLifetime, s.layout.timeOf(half).Format(time.RFC3339Nano))
}

// ticksIn returns the half-open range of ticks that start in [from, to).
func (s *Scheme) ticksIn(from, to time.Time) (a, b uint64, err error) {
	if s.Encrypted() {
		return 0, 0, fmt.Errorf("snowfence: encrypted IDs are in no order, so no range of them is " +
			"a span of time: store plain IDs and show masked ones")
	}
	if to.Before(from) {
		return 0, 0, fmt.Errorf("snowfence: range ends at %s, before it starts at %s",
			to.Format(time.RFC3339Nano), from.Format(time.RFC3339Nano))
	}
	clip := func(t time.Time) uint64 { return min(uint64(max(s.layout.TickFrom(t), 0)), uint64(s.MaxTick())+1) }
	return clip(from), clip(to), nil
}

// Ranges yields the half-open ranges of IDs with a time in [from, to), as
// Range does, for layouts with fields above the time: one for each value of
// those, in the order of the values. within fixes some of these fields by
// name, such as {"tag": 7}; an unknown field or a value that does not fit
// is an [ErrInvalidID]. An empty span has no range.
func (s *Scheme) Ranges(from, to time.Time, within map[string]int64) (iter.Seq2[ID, ID], error) {
	a, b, err := s.ticksIn(from, to)
	if err != nil {
		return nil, err
	}
	within = maps.Clone(within) // the caller may change it before the loop
	left := maps.Clone(within)
	above := s.placed[:slices.IndexFunc(s.placed, func(f placedField) bool { return f.Name == FieldTime })]
	for _, f := range above {
		if v := left[f.Name]; uint64(v) > f.mask() {
			return nil, fmt.Errorf("%w: %s %d; its %d bits hold 0 to %d", ErrInvalidID, f.Name, v, f.Bits, f.mask())
		}
		delete(left, f.Name)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%w: the layout %s has no field %s above the time",
			ErrInvalidID, s.layout, shorten(slices.Sorted(maps.Keys(left))[0]))
	}
	if len(above) == 0 {
		lo, hi, err := s.Range(from, to)
		return func(yield func(lo, hi ID) bool) { _ = lo == hi || yield(lo, hi) }, err
	}
	return func(yield func(lo, hi ID) bool) {
		eachValue(above, within, 0, func(base uint64) bool {
			lo, hi := base|a<<s.timeShift, base+b<<s.timeShift
			if hi == 1<<63 {
				hi = math.MaxInt64 // the next number is negative
			}
			return a < b && yield(ID(lo), ID(hi))
		})
	}, nil
}

// eachValue yields the bits of all values of the fields, but one of each
// that is fixed.
func eachValue(fields []placedField, fixed map[string]int64, base uint64, yield func(uint64) bool) bool {
	if len(fields) == 0 {
		return yield(base)
	}
	f := fields[0]
	first, last := uint64(0), f.mask()
	if v, ok := fixed[f.Name]; ok {
		first, last = uint64(v), uint64(v)
	}
	for v := first; v <= last; v++ {
		if !eachValue(fields[1:], fixed, base|v<<f.shift, yield) {
			return false
		}
	}
	return true
}
