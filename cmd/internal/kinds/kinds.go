// Package kinds knows IDs of other kinds than ours: UUID, ULID, KSUID, xid and TypeID. Other
// libraries make and read them; this package says what is in them, and gives them to audits.
package kinds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/snowfence/snowfence/internal/audit"
)

// Kind is a kind of IDs.
type Kind struct {
	name    string
	version uuid.Version // of a UUID; 0 for any
	prefix  string       // of a TypeID; with the _ after it
	any     bool         // a TypeID may have any prefix
}

// Names of kinds.
const (
	anyUUID = "uuid"
	uuid4   = "uuidv4"
	uuid7   = "uuidv7"
	aULID   = "ulid"
	aKSUID  = "ksuid"
	anXID   = "xid"
	typeID  = "typeid"
)

// List names the kinds, for help texts.
const List = "uuidv4, uuidv7, ulid, ksuid, xid, typeid, typeid:PREFIX"

// Parse returns the kind of a name. TypeIDs may have their prefix after a colon.
func Parse(name string) (Kind, error) {
	base, prefix, given := strings.Cut(name, ":")
	switch {
	case base == typeID:
		k := Kind{name: typeID, any: !given}
		if !given || prefix == "" {
			return k, nil
		}
		if err := checkPrefix(prefix); err != nil {
			return Kind{}, fmt.Errorf("the prefix of %q %w", shorten(name), err)
		}
		k.prefix = prefix + "_"
		return k, nil
	case given:
	case base == uuid4:
		return Kind{name: base, version: 4}, nil
	case base == uuid7:
		return Kind{name: base, version: 7}, nil
	case slices.Contains([]string{anyUUID, aULID, aKSUID, anXID}, base):
		return Kind{name: base}, nil
	}
	return Kind{}, fmt.Errorf("unknown kind %q: want one of %s; to read, also uuid for all versions",
		shorten(name), List)
}

// Name is the name of the kind, without a prefix.
func (k Kind) Name() string { return k.name }

// Bits is how many bits its IDs have.
func (k Kind) Bits() int {
	switch k.name {
	case aKSUID:
		return 160
	case anXID:
		return 96
	}
	return 128
}

// Value returns an ID as a number. All kinds sort as these numbers do.
func (k Kind) Value(text []byte) (audit.Wide, error) {
	id, err := k.read(string(text))
	return id.value, err
}

// Text writes the ID of a number that Value returned, in the kind's usual form.
func (k Kind) Text(v audit.Wide) string {
	b := make([]byte, 24)
	for i, w := range v {
		binary.BigEndian.PutUint64(b[8*i:], w)
	}
	b = b[24-k.Bits()/8:]
	switch k.name {
	case aULID:
		return ulid.ULID(b).String()
	case aKSUID:
		return ksuid.KSUID(b).String()
	case anXID:
		return xid.ID(b).String()
	case typeID:
		return k.prefix + encode32(uuid.UUID(b))
	}
	return uuid.UUID(b).String()
}

// Time are the bits of an ID's time; none if it has none in the order of its bits.
func (k Kind) Time() audit.Wide {
	switch k.name {
	case uuid7, aULID, typeID:
		return audit.Wide{0, ^uint64(1<<16 - 1), 0}
	case aKSUID:
		return audit.Wide{1<<32 - 1, 0, 0}
	case anXID:
		return audit.Wide{0, 1<<32 - 1, 0}
	}
	return audit.Wide{}
}

// Random are the bits that are random numbers. Those of UUIDs of version 7 are what all libraries
// fill so: others use the 12 bits before them for a finer time or a counter.
func (k Kind) Random() audit.Wide {
	switch k.name {
	case uuid4:
		return audit.Wide{0, ^uint64(0xf000), ^uint64(0) >> 2}
	case uuid7, typeID:
		return audit.Wide{0, 0, ^uint64(0) >> 2}
	case aULID:
		return audit.Wide{0, 1<<16 - 1, ^uint64(0)}
	case aKSUID:
		return audit.Wide{0, ^uint64(0), ^uint64(0)}
	}
	return audit.Wide{}
}

// Ordered reports whether the IDs of one process are mostly in order.
func (k Kind) Ordered() bool { return k.Time() != audit.Wide{} }

// id is an ID that was read.
type id struct {
	kind  string
	uuid  uuid.UUID // of UUIDs and TypeIDs
	ulid  ulid.ULID
	ksuid ksuid.KSUID
	xid   xid.ID
	value audit.Wide
	text  string // in its usual form
}

// read reads text of a kind.
func (k Kind) read(text string) (id, error) {
	var v id
	var err error
	switch v.kind = k.name; k.name {
	case aULID:
		v.ulid, err = ulid.ParseStrict(text)
		v.value, v.text = wide(v.ulid[:]), v.ulid.String()
	case aKSUID:
		if v.ksuid, err = ksuid.Parse(text); err == nil && v.ksuid.String() != text {
			err = errors.New("it has characters other than 0-9, A-Z and a-z") // the library reads them all
		}
		v.value, v.text = wide(v.ksuid[:]), v.ksuid.String()
	case anXID:
		v.xid, err = xid.FromString(text)
		v.value, v.text = wide(v.xid[:]), v.xid.String()
	case typeID:
		return k.readTypeID(text)
	default:
		if v.uuid, err = uuid.Parse(text); err == nil && k.version != 0 && v.uuid.Version() != k.version {
			err = fmt.Errorf("it has the version %d", v.uuid.Version())
		}
		v.value, v.text = wide(v.uuid[:]), v.uuid.String()
	}
	if err != nil {
		return id{}, fmt.Errorf("%q is no %s: %w", shorten(text), k.name, err)
	}
	return v, nil
}

// wide returns up to 24 bytes as a number.
func wide(b []byte) audit.Wide {
	var all [24]byte
	copy(all[24-len(b):], b)
	return audit.Wide{
		binary.BigEndian.Uint64(all[:]), binary.BigEndian.Uint64(all[8:]), binary.BigEndian.Uint64(all[16:]),
	}
}

// shorten cuts what an error quotes.
func shorten(s string) string {
	if len(s) > 48 {
		return s[:45] + "..."
	}
	return s
}
