package compat

import (
	"cmp"
	"fmt"
	"testing"

	theirs "github.com/bwmarrin/snowflake"
	ours "github.com/snowfence/snowfence/compat/snowflake"
	"github.com/snowfence/snowfence/internal/tests"
)

func TestBwmarrinOwnTests(t *testing.T) {
	original{module: "github.com/bwmarrin/snowflake", layer: "snowflake"}.run(t)
}

// setBwmarrin gives both libraries the same settings until the test ends.
func setBwmarrin(t *testing.T, epoch int64, node, step uint8) {
	theirs.Epoch, theirs.NodeBits, theirs.StepBits = epoch, node, step
	ours.Epoch, ours.NodeBits, ours.StepBits = epoch, node, step
	t.Cleanup(func() {
		theirs.Epoch, theirs.NodeBits, theirs.StepBits = 1288834974657, 10, 12
		ours.Epoch, ours.NodeBits, ours.StepBits = 1288834974657, 10, 12
	})
}

// Every field, time and text of an ID is the same in both libraries, made
// by either.
func TestBwmarrinIsEqualBothWays(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	for _, c := range []struct {
		epoch      int64
		node, step uint8
	}{
		{1288834974657, 10, 12},
		{1288834974657, 5, 17},
		{1420070400000, 8, 8},
		{1735689600000, 12, 10},
		{0, 22, 0},
		{1700000000001, 0, 22},
		{1735689600123, 3, 13},
	} {
		t.Run(fmt.Sprintf("epoch %d, %d+%d bits", c.epoch, c.node, c.step), func(t *testing.T) {
			setBwmarrin(t, c.epoch, c.node, c.step)
			nodes := min(int64(1)<<c.node, 500)
			var a []*theirs.Node
			var b []*ours.Node
			for i := range nodes {
				number := i * (int64(1)<<c.node - 1) / max(nodes-1, 1) // the last one too
				x, err := theirs.NewNode(number)
				must(t, err)
				y, err := ours.NewNode(number)
				must(t, err)
				defer y.Close() // other settings come next
				a, b = append(a, x), append(b, y)
			}
			for i := range n {
				k := i % len(a)
				id := a[k].Generate()
				sameBwmarrin(t, id, ours.ID(id))
				own := b[k].Generate()
				sameBwmarrin(t, theirs.ID(own), own)
				if t.Failed() {
					return
				}
			}
			for _, id := range []int64{0, 1, 31, 32, 57, 58, 1<<63 - 1, 1 << 62} {
				sameBwmarrin(t, theirs.ID(id), ours.ID(id))
			}
		})
	}
}

func sameBwmarrin(t *testing.T, a theirs.ID, b ours.ID) {
	t.Helper()
	type pair struct {
		name string
		a, b any
	}
	jsonA, _ := a.MarshalJSON()
	jsonB, _ := b.MarshalJSON()
	for _, p := range [...]pair{
		{"Int64", a.Int64(), b.Int64()},
		{"Time", a.Time(), b.Time()},
		{"Node", a.Node(), b.Node()},
		{"Step", a.Step(), b.Step()},
		{"String", a.String(), b.String()},
		{"Base2", a.Base2(), b.Base2()},
		{"Base32", a.Base32(), b.Base32()},
		{"Base36", a.Base36(), b.Base36()},
		{"Base58", a.Base58(), b.Base58()},
		{"Base64", a.Base64(), b.Base64()},
		{"Bytes", string(a.Bytes()), string(b.Bytes())},
		{"IntBytes", a.IntBytes(), b.IntBytes()},
		{"JSON", string(jsonA), string(jsonB)},
		{"ParseInt64", int64(theirs.ParseInt64(b.Int64())), int64(ours.ParseInt64(a.Int64()))},
		{"ParseIntBytes", int64(theirs.ParseIntBytes(b.IntBytes())), int64(ours.ParseIntBytes(a.IntBytes()))},
	} {
		if p.a != p.b {
			t.Errorf("%d: %s: theirs %v, ours %v", a, p.name, p.a, p.b)
		}
	}
	for _, p := range [...]struct {
		name string
		a, b string // as theirs and ours write it
		x    func([]byte) (theirs.ID, error)
		y    func([]byte) (ours.ID, error)
	}{
		{"ParseBase32", a.Base32(), b.Base32(), theirs.ParseBase32, ours.ParseBase32},
		{"ParseBase58", a.Base58(), b.Base58(), theirs.ParseBase58, ours.ParseBase58},
		{"ParseBytes", string(a.Bytes()), string(b.Bytes()), theirs.ParseBytes, ours.ParseBytes},
		{"ParseString", a.String(), b.String(), ofText(theirs.ParseString), ofText(ours.ParseString)},
		{"ParseBase2", a.Base2(), b.Base2(), ofText(theirs.ParseBase2), ofText(ours.ParseBase2)},
		{"ParseBase36", a.Base36(), b.Base36(), ofText(theirs.ParseBase36), ofText(ours.ParseBase36)},
		{"ParseBase64", a.Base64(), b.Base64(), ofText(theirs.ParseBase64), ofText(ours.ParseBase64)},
		{"UnmarshalJSON", string(jsonA), string(jsonB), theirJSON, ourJSON},
	} {
		x, errX := p.x([]byte(p.b))
		y, errY := p.y([]byte(p.a))
		if errX != nil || errY != nil || x != a || y != b {
			t.Errorf("%d: %s: they read %d (%v), we read %d (%v)", a, p.name, x, errX, y, errY)
		}
	}
}

func ofText[T any](read func(string) (T, error)) func([]byte) (T, error) {
	return func(text []byte) (T, error) { return read(string(text)) }
}

func theirJSON(text []byte) (id theirs.ID, err error) {
	err = id.UnmarshalJSON(text)
	return id, err
}

func ourJSON(text []byte) (id ours.ID, err error) {
	err = id.UnmarshalJSON(text)
	return id, err
}

// The two libraries treat wrong IDs and wrong settings in the same way.
func TestBwmarrinRefusals(t *testing.T) {
	node := func(id int64, err error) string {
		if err != nil {
			return "error"
		}
		return "ok"
	}
	parsed := func(id int64, err error) string {
		if err != nil {
			return fmt.Sprintf("%d, %v", id, err)
		}
		return fmt.Sprint(id)
	}
	newNode := func(number int64) func() (string, string) {
		return func() (string, string) {
			_, a := theirs.NewNode(number)
			_, b := ours.NewNode(number)
			return node(0, a), node(0, b)
		}
	}
	reads := func(
		a func(string) (theirs.ID, error), b func(string) (ours.ID, error),
	) func(string) func() (string, string) {
		return func(text string) func() (string, string) {
			return func() (string, string) {
				x, errX := a(text)
				y, errY := b(text)
				return parsed(int64(x), errX), parsed(int64(y), errY)
			}
		}
	}
	base32 := reads(func(s string) (theirs.ID, error) { return theirs.ParseBase32([]byte(s)) },
		func(s string) (ours.ID, error) { return ours.ParseBase32([]byte(s)) })
	base58 := reads(func(s string) (theirs.ID, error) { return theirs.ParseBase58([]byte(s)) },
		func(s string) (ours.ID, error) { return ours.ParseBase58([]byte(s)) })
	base64, decimal := reads(theirs.ParseBase64, ours.ParseBase64), reads(theirs.ParseString, ours.ParseString)
	object := reads(func(s string) (theirs.ID, error) { return theirJSON([]byte(s)) },
		func(s string) (ours.ID, error) { return ourJSON([]byte(s)) })
	const same = "the same"
	for _, c := range []struct {
		what         string
		node, step   uint8
		epoch        int64
		do           func() (string, string)
		theirs, ours string
	}{
		{"a node below 0", 10, 12, 0, newNode(-1), "error", same},
		{"a node above the last", 10, 12, 0, newNode(1024), "error", same},
		{"the last node", 10, 12, 0, newNode(1023), "ok", same},
		{"more than 22 bits (an error on their master)", 12, 12, 0, newNode(1), "ok", "error"},
		{"an epoch in the future", 10, 12, 4102444800000, newNode(1), "ok", "error"},
		{"an epoch before 1900", 10, 12, -4102444800000, newNode(1), "ok", "error"},
		{
			"base 32 in upper case (no error until their master)", 10, 12, 0, base32("B8WJM1ZROYYYY"),
			"252202197608038400", "-1, invalid base32",
		},
		{"base 32: no digit (0 until their master)", 10, 12, 0, base32("~"), "0", "-1, invalid base32"},
		{"base 32: too long", 10, 12, 0, base32("bbbbbbbbbbbbbbb"), "1190112520884487201", "-1, invalid base32"},
		{"base 32: 65 bits", 10, 12, 0, base32("oyyyyyyyyyyyy"), "0", "-1, invalid base32"},
		{"base 32: empty", 10, 12, 0, base32(""), "0", "-1, invalid base32"},
		{"base 32: 2^63", 10, 12, 0, base32("eyyyyyyyyyyyy"), "-9223372036854775808", same},
		{"base 58: no digit (0 until their master)", 10, 12, 0, base58("I"), "0", "-1, invalid base58"},
		{"base 58: 0", 10, 12, 0, base58("0"), "-1, invalid base58", same},
		{"base 58: too long", 10, 12, 0, base58("222222222222"), "6978262101897486839", "-1, invalid base58"},
		{"base 58: 65 bits", 10, 12, 0, base58("ZZZZZZZZZZZ"), "6539899926455986175", "-1, invalid base58"},
		{"base 64 without its end", 10, 12, 0, base64("MTExNjgx="), "-1, illegal base64 data at input byte 8", same},
		{
			"decimal: too large", 10, 12, 0, decimal("9223372036854775808"),
			`9223372036854775807, strconv.ParseInt: parsing "9223372036854775808": value out of range`, same,
		},
		{"a JSON number", 10, 12, 0, object("1"), `0, invalid snowflake ID "1"`, same},
		{"JSON null", 10, 12, 0, object("null"), `0, invalid snowflake ID "null"`, same},
	} {
		setBwmarrin(t, cmp.Or(c.epoch, 1288834974657), c.node, c.step)
		a, b := c.do()
		if c.ours == same {
			c.ours = c.theirs
		}
		if a != c.theirs || b != c.ours {
			t.Errorf("%s: theirs %q, want %q; ours %q, want %q", c.what, a, c.theirs, b, c.ours)
		}
	}
}

// Programs from the issues of bwmarrin/snowflake, each with the duplicates
// it was reported for.
func TestBwmarrinDuplicates(t *testing.T) {
	setBwmarrin(t, 1288834974657, 10, 12)
	type generate = func() int64
	old := func(number int64) generate {
		n, err := theirs.NewNode(number)
		must(t, err)
		return func() int64 { return n.Generate().Int64() }
	}
	layer := func(number int64) generate {
		n, err := ours.NewNode(number)
		if err != nil {
			t.Error(err)
			return func() int64 { return 0 }
		}
		return func() int64 { return n.Generate().Int64() }
	}
	type open = func(number int64) generate
	compare(t, []program[open]{
		// "got repeated id": a function that makes its own node is called
		// again and again.
		{"9", true, func(newNode open, add func(...int64)) {
			for range 1000 {
				take(2, newNode(1), add)
			}
		}},
		// A handler makes a node for each request, ten at a time.
		{"39", true, func(newNode open, add func(...int64)) {
			threads(10, func(int) {
				for range 1000 {
					add(newNode(1)())
				}
			})
		}},
		// "If it is the same timestamp, the generated IDs will be the
		// same": a node of one number in each part of a program.
		{"64", true, func(newNode open, add func(...int64)) {
			a, b, c, d := newNode(7), newNode(7), newNode(7), newNode(7)
			for range 20_000 { // in turn, because goroutines may come one after the other
				add(a(), b(), c(), d())
			}
		}},
	}, func(*testing.T, int) open { return old }, func(*testing.T, int) open { return layer })
}

// #26: two nodes of other NodeBits can make the same ID. The layer refuses
// the second.
func TestBwmarrinOtherBits(t *testing.T) {
	setBwmarrin(t, 1288834974657, 10, 12)
	a, err := ours.NewNode(2)
	must(t, err)
	defer a.Close()
	setBwmarrin(t, 1288834974657, 11, 11)
	tests.WantErr(t, tests.ErrOf(ours.NewNode(4)), ours.ErrOverlap, "a node with numbers of another")
	b, err := ours.NewNode(6)
	must(t, err)
	defer b.Close()
	if a.Generate() == b.Generate() {
		t.Error("one ID twice")
	}
}
