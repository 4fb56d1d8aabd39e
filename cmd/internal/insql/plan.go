// Package insql writes the SQL that makes the IDs of one node inside a
// database.
//
// The database takes positions: tick × slots + slot. A position is in the
// database's log before a client can see its commit, and no two
// transactions take one. So no ID comes twice, whatever the clock does.
//
// Other SQL takes numbers of strict sequences inside the caller's
// transaction. Its rules are those of sequence.NextTx, over the same
// records.
package insql

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// ErrPlan means that no functions can be written for a plan.
var ErrPlan = errors.New("no SQL for this")

// Plan says which IDs a database makes. Only Layout, Node and From are
// needed.
type Plan struct {
	Layout snowfence.Layout
	Node   int64
	From   int64 // tick above which the first ID lies
	Anew   bool  // From counts for functions that are there, too: others may have used the node since

	Lanes   int           // slices of the sequence, each for one transaction at a time; 0 for DefaultLanes
	Lead    int64         // how many ticks IDs may run ahead of the clock; see DefaultLead
	MaxWait time.Duration // how long a call waits when they would run further ahead; 0 means not at all
	Schema  string        // of the functions; "" means the dialect's
	Table   string        // TABLE.COLUMN or SCHEMA.TABLE.COLUMN that gets the IDs by itself; "" for none
	About   []string      // comments at the top
}

const (
	defaultLanes = 64
	maxLead      = 1 << 40
)

// numbers are the numbers of a plan, as the SQL has them.
type numbers struct {
	Plan
	Spec      string
	Tick      int64 // length, in microseconds
	Epoch     int64 // in microseconds since 1970
	MaxTick   int64
	TimeShift int
	SeqShift  int
	NodeBits  int64  // the node at its place in an ID
	Parts     []part // of the node, from the highest down
	Width     int
	First     int64 // sequence number of slot 0 of lane 0
	Count     int64 // of usable sequence numbers
	SeqMask   int64
	TagShift  int
	TagMask   int64 // 0 without a tag
	Per       int64 // slots: how many numbers of each tick a lane has
	MaxWaitUS int64
	End       int64 // the lowest ID above all, for ranges of time
	Half      int64 // tick from which IDs are negative; 0 when they never are
	Table     []string
	Column    string
}

// part is a field of the node.
type part struct {
	Shift, Up int // where it stands in an ID, and in the node
	Mask      int64
}

// DefaultLanes is 64, or a quarter of the sequence numbers if that is less:
// more are not allowed.
func DefaultLanes(l snowfence.Layout) int {
	return int(min(defaultLanes, maxLanes(numbersOf(l))))
}

func maxLanes(count int64) int64 {
	return 1 << max(bits.Len64(uint64(count/4))-1, 0)
}

// numbersOf returns how many sequence numbers a layout uses.
func numbersOf(l snowfence.Layout) int64 {
	return cmp.Or(l.Last, int64(1)<<l.Bits(snowfence.FieldSequence)-1) - l.First + 1
}

// DefaultLead returns the number of ticks in a second, or 1 if a tick is
// longer.
func DefaultLead(l snowfence.Layout) int64 {
	return max(1, int64(time.Second/cmp.Or(l.Tick, time.Millisecond)))
}

// workOut works out the numbers in the texts, or the reason against them.
func (p Plan) workOut() (n numbers, err error) {
	fail := func(format string, args ...any) (numbers, error) {
		return n, fmt.Errorf("%w: %w", ErrPlan, fmt.Errorf(format, args...))
	}
	if p.Layout.Cipher != snowfence.Plain {
		return fail("the layout is encrypted, and its secret must not be in a database: make plain IDs there and " +
			"mask them where people see them")
	}
	s, err := snowfence.NewScheme(p.Layout)
	if err != nil {
		return fail("%w", err)
	}
	l := s.Layout()
	p.Layout = l
	n = numbers{
		Plan: p, Spec: l.String(), MaxTick: s.MaxTick(), Width: l.Width(), First: l.First,
		Count: l.Last - l.First + 1, SeqMask: int64(1)<<l.Bits(snowfence.FieldSequence) - 1,
		Tick: int64(l.Tick / time.Microsecond), Epoch: l.Epoch.UnixMicro(),
	}
	n.Lanes = cmp.Or(p.Lanes, DefaultLanes(l))
	n.MaxWaitUS = p.MaxWait.Microseconds()
	switch {
	case l.Bits(snowfence.FieldRollback) > 0:
		return fail("the layout has rollback bits, which count steps of a clock in one process: take one without")
	case l.Fields[0].Name != snowfence.FieldTime:
		return fail("%s stands above the time, so a span of time is no range of IDs: let programs make them",
			l.Fields[0].Name)
	case l.Tick%time.Microsecond != 0:
		return fail("a tick of %v is no whole number of microseconds, which databases count in", l.Tick)
	case l.Epoch.Nanosecond()%1000 != 0:
		return fail("the epoch %s is no whole number of microseconds, which databases count in",
			l.Epoch.Format(time.RFC3339Nano))
	case p.Node < 0 || p.Node >= s.Nodes():
		return fail("node %d: the layout has the nodes 0 to %d", p.Node, s.Nodes()-1)
	case p.From < 0:
		return fail("the epoch of the layout, %s, is in the future", l.Epoch.Format(time.RFC3339))
	case p.From >= n.MaxTick:
		return fail("the time of the layout ran out on %s (%w)", l.EndOfLife().Format(time.RFC3339),
			snowfence.ErrLifetime)
	case n.Lanes < 1 || n.Lanes&(n.Lanes-1) != 0:
		return fail("%d lanes: take a power of two", n.Lanes)
	case int64(n.Lanes) > maxLanes(n.Count):
		return fail("%d lanes: at most a quarter of the %d sequence numbers can be lanes: take %d", n.Lanes, n.Count,
			maxLanes(n.Count))
	case p.Lead < 0 || p.Lead > maxLead:
		return fail("a lead of %d ticks: take 0 to %d", p.Lead, int64(maxLead))
	case n.MaxWaitUS < 0:
		return fail("a wait of %v: take a time from 0 up", p.MaxWait)
	}
	n.Per = n.Count / int64(n.Lanes)
	if hi, lo := bits.Mul64(uint64(n.MaxTick)+1, uint64(n.Per)); hi > 0 || lo > math.MaxInt64 {
		return fail("%d lanes: positions would not fit in 63 bits: take more lanes", n.Lanes)
	}
	n.placeFields(l)
	return n, n.splitNames()
}

// placeFields works out where the fields stand in an ID.
func (n *numbers) placeFields(l snowfence.Layout) {
	shift, up, rest := n.Width, l.Bits(snowfence.FieldNode), n.Node
	for _, f := range l.Fields {
		shift -= f.Bits
		switch f.Name {
		case snowfence.FieldTime:
			n.TimeShift = shift
		case snowfence.FieldSequence:
			n.SeqShift = shift
		case snowfence.FieldTag:
			n.TagShift, n.TagMask = shift, int64(1)<<f.Bits-1
		default:
			up -= f.Bits
			mask := int64(1)<<f.Bits - 1
			n.Parts = append(n.Parts, part{shift, up, mask})
			n.NodeBits |= rest >> up & mask << shift
		}
	}
	switch {
	case n.Width == 64:
		n.Half = (n.MaxTick + 1) / 2
	case n.Width == 63:
		n.End = math.MaxInt64
	default:
		n.End = 1 << n.Width
	}
}

// splitNames takes the names of a plan apart, and refuses those that no
// text can have.
func (n *numbers) splitNames() error {
	if n.Plan.Table != "" {
		names := strings.Split(n.Plan.Table, ".")
		if len(names) < 2 || len(names) > 3 {
			return fmt.Errorf("%w: table %q: name it with its column, as in orders.id", ErrPlan, n.Plan.Table)
		}
		n.Table, n.Column = names[:len(names)-1], names[len(names)-1]
	}
	for _, name := range append([]string{n.Schema, n.Column}, n.Table...) {
		if len(name) > 63 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) ||
			strings.ContainsAny(name, `\$`) {
			return fmt.Errorf("%w: the name %q: it has at most 63 bytes, and no '$', '\\' or control characters",
				ErrPlan, name)
		}
	}
	if n.Plan.Table != "" && (n.Column == "" || n.Table[0] == "" || n.Table[len(n.Table)-1] == "") {
		return fmt.Errorf("%w: table %q: a name is empty", ErrPlan, n.Plan.Table)
	}
	return nil
}
