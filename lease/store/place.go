package store

import "errors"

// ErrMoved means that a namespace or a sequence was moved to another store,
// or is being moved to this one.
var ErrMoved = errors.New("it was moved to another store: give this program that one (snowfence doctor names it)")

// Place is a store and how people call it.
type Place struct {
	Store
	Name string
}
