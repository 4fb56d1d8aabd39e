package kinds

import (
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
)

// About is what an ID tells.
type About struct {
	Kind  string // uuidv7, ulid, …
	Name  string // for people
	Text  string // in its usual form
	Time  *time.Time
	Facts []Fact
}

// Fact is one of the other parts of an ID. Value is a text or an int64.
type Fact struct {
	Name  string
	Value any
	Note  string // for people
}

// Recognize says what a text is, if it is of a kind known. Decimal digits alone are a number.
func Recognize(text string) (About, bool) {
	if strings.Trim(text, "0123456789") == "" {
		return About{}, false
	}
	for _, k := range candidates(text) {
		if v, err := k.read(text); err == nil {
			return v.about(), true
		}
	}
	return About{}, false
}

// candidates are the kinds of which a text can be, by its length.
func candidates(text string) []Kind {
	prefixed := Kind{name: typeID, any: true}
	switch len(text) {
	case 20:
		return []Kind{{name: anXID}}
	case 27:
		return []Kind{{name: aKSUID}}
	case 32, 36, 38, 45:
		if u, err := uuid.Parse(text); err == nil && (len(text) > 32 || known(u)) {
			return []Kind{{name: anyUUID}}
		}
	case len32:
		// Both are base 32. A TypeID has lower case and a UUID inside.
		if u, err := decode32(text); err == nil && u.Version() == 7 && u.Variant() == uuid.RFC4122 {
			return []Kind{prefixed}
		}
		return []Kind{{name: aULID}}
	}
	return []Kind{prefixed}
}

// known reports whether 32 digits without a hyphen are a UUID rather than some other hash.
func known(u uuid.UUID) bool {
	return u == uuid.Nil || u == uuid.Max || u.Variant() == uuid.RFC4122 && u.Version() >= 1 && u.Version() <= 8
}

func (v id) about() About {
	a := About{Kind: v.kind, Text: v.text}
	switch v.kind {
	case aULID:
		a.Name = "ULID"
		a.Time = instant(ulid.Time(v.ulid.Time()))
		a.random(80, "or counted up from a random number within a millisecond")
	case aKSUID:
		a.Name = "KSUID"
		a.Time = instant(v.ksuid.Time())
		a.random(128, "")
	case anXID:
		a.Name = "xid"
		a.Time = instant(v.xid.Time())
		a.add("machine", hex.EncodeToString(v.xid.Machine()), "mostly a hash of the machine's ID or host name: the "+
			"same in all its IDs")
		a.add("pid", int64(v.xid.Pid()), "of the process; mixed with a number in a container")
		a.add("counter", int64(v.xid.Counter()), "of the process, from a random number up")
	case typeID:
		a.Name = "TypeID"
		if at := strings.LastIndexByte(v.text, '_'); at > 0 {
			a.add("prefix", v.text[:at], "")
		}
		a.add("uuid", v.uuid.String(), "")
		a.aboutUUID(v.uuid)
	default:
		a.Kind = fmt.Sprintf("uuidv%d", v.uuid.Version())
		a.Name = fmt.Sprintf("UUID of version %d", v.uuid.Version())
		a.aboutUUID(v.uuid)
	}
	return a
}

func (a *About) aboutUUID(u uuid.UUID) {
	switch version := u.Version(); {
	case u == uuid.Nil || u == uuid.Max:
		a.Kind, a.Name = "uuid", "UUID with no bit set, which stands for none"
		if u == uuid.Max {
			a.Name = "UUID with all bits set, which stands for the end"
		}
	case u.Variant() != uuid.RFC4122:
		a.Kind, a.Name = "uuid", "UUID that is not of RFC 9562: its variant is "+u.Variant().String()
	case version == 1 || version == 6:
		ticks := u.Time()
		if version == 6 { // github.com/google/uuid v1.6.0 takes the version for a part of it
			high := wide(u[:8])[2]
			ticks = uuid.Time(high>>16<<12 | high&0xfff)
		}
		a.Time = instant(time.Unix(ticks.UnixTime()))
		a.add("clock sequence", int64(u.ClockSequence()&0x3fff), "random, or counted up when the clock stepped back")
		a.addNode(u.NodeID())
	case version == 2:
		a.add("domain", u.Domain().String(), "")
		a.add("number", int64(u.ID()), "of a user or group on the machine that made it")
		a.addNode(u.NodeID())
	case version == 3:
		a.add("hash", "md5", "of a name: it has no time and is not random")
	case version == 5:
		a.add("hash", "sha1", "of a name: it has no time and is not random")
	case version == 4:
		a.random(122, "no time")
	case version == 7:
		a.Time = instant(time.UnixMilli(int64(wide(u[:6])[2])))
		a.random(74, "at most: the first 12 may count, or be a finer time")
	case version == 8:
		a.add("content", "custom", "what it means only its maker knows")
	}
}

func instant(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

func (a *About) add(name string, value any, note string) {
	a.Facts = append(a.Facts, Fact{name, value, note})
}

func (a *About) random(bits int64, note string) { a.add("random bits", bits, note) }

// addNode says what the node of a UUID tells about the machine.
func (a *About) addNode(node []byte) {
	kind, note := "mac", "the address of a network card: it names the machine that made this ID, to everybody who "+
		"has it"
	switch {
	case node[0]&1 == 1:
		kind, note = "random", "no network card has this address: the number is random, or was chosen"
	case node[0]&2 == 2:
		kind, note = "local", "an address that was given by software: of a container, a virtual machine, or a "+
			"random one"
	}
	a.add("node", net.HardwareAddr(node).String(), note)
	a.add("node is", kind, "")
}

// Format writes a value.
func (f Fact) Format() string {
	if n, ok := f.Value.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(f.Value)
}
