package store

import (
	"errors"
	"strings"
)

// Closed stands in an identity of a [Store], between colons, for a source
// that this program may not ask.
const Closed = "-"

// Compare tells how an identity stands to one from before. It is the same
// store if all sources that both name agree. Less means that a source is
// closed now that was not before. Two identities of different stores are
// not the same, whatever is closed.
func Compare(now, before string) (same, less bool) {
	a, b := strings.Split(now, ":"), strings.Split(before, ":")
	if len(a) != len(b) {
		return false, false
	}
	for i := range a {
		switch {
		case a[i] == b[i] || b[i] == Closed:
		case a[i] == Closed:
			less = true
		default:
			return false, false
		}
	}
	return true, less
}

// ErrMoved means that a namespace or a sequence was moved to another store,
// or is being moved to this one.
var ErrMoved = errors.New("it was moved to another store: give this program that one (snowfence doctor names it)")

// Place is a store and how people call it.
type Place struct {
	Store
	Name string
}
