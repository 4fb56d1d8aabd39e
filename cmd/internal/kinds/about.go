package kinds

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/xid"
)

// About has the facts in an ID.
type About struct {
	Kind  string // uuidv7, xid, …
	Name  string // for people
	Text  string // in its usual form
	Time  *time.Time
	Facts []Fact
}

// Fact is one of the other parts of an ID. Value is a text or an int64.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Note  string `json:"-"` // for people
}

// Recognize reads a UUID in any of its forms, or an xid. Decimal digits alone
// are a number.
func Recognize(text string) (About, bool) {
	if strings.Trim(text, "0123456789") == "" {
		return About{}, false
	}
	if id, err := xid.FromString(text); err == nil {
		return aboutXID(id), true
	}
	u, err := uuid.Parse(text)
	if err != nil || len(text) == 32 && !known(u) {
		return About{}, false
	}
	a := About{
		Kind: fmt.Sprintf("uuidv%d", u.Version()),
		Name: fmt.Sprintf("UUID of version %d", u.Version()),
		Text: u.String(),
	}
	a.aboutUUID(u)
	return a, true
}

// known reports whether 32 digits without a hyphen are a UUID rather than some
// other hash.
func known(u uuid.UUID) bool {
	return u == uuid.Nil || u == uuid.Max || u.Variant() == uuid.RFC4122 && u.Version() >= 1 && u.Version() <= 8
}

func aboutXID(id xid.ID) About {
	a := About{Kind: "xid", Name: "xid", Text: id.String(), Time: instant(id.Time())}
	a.addFact("machine", hex.EncodeToString(id.Machine()), "mostly a hash of the machine's ID or host name: the "+
		"same in all its IDs")
	a.addFact("pid", int64(id.Pid()), "of the process; mixed with a number in a container")
	a.addFact("counter", int64(id.Counter()), "of the process, from a random number up")
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
			high := binary.BigEndian.Uint64(u[:8])
			ticks = uuid.Time(high>>16<<12 | high&0xfff)
		}
		a.Time = instant(time.Unix(ticks.UnixTime()))
		a.addFact("clock sequence", int64(u.ClockSequence()&0x3fff),
			"random, or counted up when the clock stepped back")
		a.addNode(u.NodeID())
	case version == 2:
		a.addFact("domain", u.Domain().String(), "")
		a.addFact("number", int64(u.ID()), "of a user or group on the machine that made it")
		a.addNode(u.NodeID())
	case version == 3:
		a.addFact("hash", "md5", "of a name: it has no time and is not random")
	case version == 5:
		a.addFact("hash", "sha1", "of a name: it has no time and is not random")
	case version == 4:
		a.addRandom(122, "no time")
	case version == 7:
		a.Time = instant(time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)))
		a.addRandom(74, "at most: the first 12 may count, or be a finer time")
	case version == 8:
		a.addFact("content", "custom", "what it means only its maker knows")
	}
}

func instant(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

func (a *About) addFact(name string, value any, note string) {
	a.Facts = append(a.Facts, Fact{name, value, note})
}

func (a *About) addRandom(bits int64, note string) { a.addFact("random bits", bits, note) }

// addNode adds the machine's facts in the node of a UUID.
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
	a.addFact("node", net.HardwareAddr(node).String(), note)
	a.addFact("node is", kind, "")
}
