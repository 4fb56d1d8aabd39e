// Package kinds reads and makes IDs of other kinds than ours, by their makers'
// libraries: UUIDs and xids.
package kinds

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/rs/xid"
)

// List names the kinds that [Maker] makes, for help texts.
const List = "uuidv4, uuidv7, xid"

// Maker returns a function that makes IDs of a kind of [List].
func Maker(kind string) (func() (string, error), error) {
	text := func(u uuid.UUID, err error) (string, error) { return u.String(), err }
	switch kind {
	case "uuidv4":
		return func() (string, error) { return text(uuid.NewRandom()) }, nil
	case "uuidv7":
		return func() (string, error) { return text(uuid.NewV7()) }, nil
	case "xid":
		return func() (string, error) { return xid.New().String(), nil }, nil
	}
	if len(kind) > 48 {
		kind = kind[:45] + "..."
	}
	return nil, fmt.Errorf("unknown kind %q: want one of %s", kind, List)
}
