package kinds

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
)

// Maker returns a function that makes IDs of a kind, for one goroutine.
func (k Kind) Maker() (func() (string, error), error) {
	text := func(u uuid.UUID, err error) (string, error) { return u.String(), err }
	switch k.name {
	case uuid4:
		return func() (string, error) { return text(uuid.NewRandom()) }, nil
	case uuid7:
		return func() (string, error) { return text(uuid.NewV7()) }, nil
	case aULID:
		entropy := ulid.Monotonic(rand.Reader, 0) // those of one millisecond count up
		return func() (string, error) {
			id, err := ulid.New(ulid.Timestamp(time.Now()), entropy)
			return id.String(), err
		}, nil
	case aKSUID:
		return func() (string, error) {
			id, err := ksuid.NewRandom()
			return id.String(), err
		}, nil
	case anXID:
		return func() (string, error) { return xid.New().String(), nil }, nil
	case typeID:
		return func() (string, error) {
			u, err := uuid.NewV7()
			return k.prefix + encode32(u), err
		}, nil
	}
	return nil, errors.New("a UUID has a version: uuidv4 is random, uuidv7 begins with the time")
}
