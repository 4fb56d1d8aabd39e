package sequence

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/snowfence/snowfence/lease"
)

// share is the part that one store has of a sequence over several stores. Such a sequence has so
// many classes, and a store gives out the ordinals of one class: start + step × (class + classes ×
// ordinal). So stores that know nothing of each other give out different numbers.
//
// Invariant: a class of a set belongs to at most one record, ever. A set is made by one call of
// CreateAny, which writes each of the first classes once. Each later class is given away once, by
// the store that keeps it, to one call that writes it once.
type share struct {
	Set     string `json:"set,omitempty"`     // random, the same in all stores of the sequence
	Class   int64  `json:"class,omitempty"`   // of this store
	Classes int64  `json:"classes,omitempty"` // how many there are; 0 in a sequence of one store
	Stores  int64  `json:"stores,omitempty"`  // how many there were in the beginning
	Given   int64  `json:"given,omitempty"`   // how many spare classes this store gave away
	Pending bool   `json:"pending,omitempty"` // not all stores have acknowledged the set: it gives no numbers
}

// mostClasses bounds how much faster the numbers grow than they are used.
const mostClasses = 1000

// spare returns the next class that the store can give away, if there is one. Of the classes beyond
// the stores of the beginning, each of these keeps every so manieth, so that any of them can give
// one away without the others.
func (p share) spare() (class int64, ok bool) {
	if p.Pending || p.Class >= p.Stores {
		return 0, false
	}
	class = p.Class + (p.Given+1)*p.Stores
	return class, class < p.Classes
}

// part returns the course of one class.
func (c course) part(class, classes int64) (course, error) {
	over, stride := bits.Mul64(c.stride(), uint64(classes))
	switch {
	case classes > mostClasses || class < 0 || class >= classes:
		return c, fmt.Errorf("class %d of %d: there are 1 to %d classes, counted from 0 (%w)", class, classes,
			mostClasses, lease.ErrInvalid)
	case over != 0 || stride > math.MaxInt64:
		return c, fmt.Errorf("step %d × %d classes is beyond 2^63 − 1: use a smaller step (%w)", c.step, classes,
			lease.ErrInvalid)
	case c.count < classes:
		return c, fmt.Errorf("up to max are %d numbers, and there are %d classes: use a max further away (%w)",
			c.count, classes, lease.ErrInvalid)
	}
	return course{c.number(class), c.step * classes, (c.count-1-class)/classes + 1}, nil
}

// complete writes out every default, and returns the course of the numbers that this store has.
func (s *stored) complete() (c course, err error) {
	if s.Definition, c, err = s.completed(); err == nil && s.share != (share{}) {
		c, err = c.part(s.Class, s.Classes)
	}
	return c, err
}

// admit refuses a record that gives no numbers, or is another one than the sequence was opened for.
func (s *Sequence) admit(now state) error {
	switch {
	case now.Classes != 0 && s.heard == nil:
		return fmt.Errorf("sequence %q: this store has class %d of %d, and other stores the others: open it with "+
			"OpenAny, with the stores that you have, or with this one alone (%w)", s.name, now.Class, now.Classes,
			lease.ErrRefused)
	case now.Classes == 0 && s.heard != nil:
		return fmt.Errorf("sequence %q: it is of this store alone: open it with Open (%w)", s.name, lease.ErrRefused)
	case s.known.Set != "" && (now.Set != s.known.Set || now.Class != s.known.Class):
		return fmt.Errorf("sequence %q: the store has class %d of set %s, and had class %d of set %s: open it "+
			"again (%w)", s.name, now.Class, now.Set, s.known.Class, s.known.Set, lease.ErrRefused)
	}
	return now.live()
}
