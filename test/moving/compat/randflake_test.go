package compat

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math"
	"testing"
	"time"

	ours "github.com/snowfence/snowfence/compat/randflake"
	theirs "gosuda.org/randflake"
)

func TestRandflakeOwnTests(t *testing.T) {
	const (
		private = "calls a private function; the table of refusals has texts"
		vectors = "sets the private sequence; the package itself has a test of the vectors"
	)
	original{
		module: "gosuda.org/randflake", layer: "randflake",
		out: map[string]string{
			"TestBase32HexEncode": private, "TestBase32HexDecode": private,
			"TestRandflakeTestVectors": vectors, "buildRandflakeVectors": vectors, "buildRandflakeVector": vectors,
			"prepareGeneratorForVector": vectors, "composeRawID": vectors, "writeRandflakeVectors": vectors,
		},
	}.run(t)
}

// randflakes is a generator of either library.
type randflakes interface {
	Generate() (int64, error)
	GenerateString() (string, error)
	Inspect(int64) (second, node, sequence int64, err error)
	InspectString(string) (second, node, sequence int64, err error)
	UpdateLease(start, end int64) bool
}

const randflakeNoon = ours.RANDFLAKE_EPOCH_OFFSET + 12*3600

// randflakeSecret returns a secret for one test: in our library, generators
// of one secret and node share what was used.
func randflakeSecret(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:16]
}

func bothRandflakes(t *testing.T, node, start, end int64, secret string, now func() int64) (a, b randflakes) {
	t.Helper()
	x, err := theirs.NewGenerator(node, start, end, randflakeSecret(secret))
	must(t, err)
	y, err := ours.NewGenerator(node, start, end, randflakeSecret(secret))
	must(t, err)
	x.TimeSource, y.TimeSource = now, now
	return x, y
}

// Every field and text of an ID is the same in both libraries, made by
// either.
func TestRandflakeIsEqualBothWays(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	const until = ours.RANDFLAKE_EPOCH_OFFSET + 1<<29 - 1 // theirs read no later ones
	for _, c := range []struct {
		node, start, end int64
		step             int // IDs in a second
	}{
		{0, ours.RANDFLAKE_EPOCH_OFFSET, until, 1 << 17},
		{ours.RANDFLAKE_MAX_NODE, ours.RANDFLAKE_EPOCH_OFFSET, until, 1000},
		{42, 1733706297, 1733706297, 1 << 17},
		{65536, 1800000000, until, 1},
		{77777, until - 10_000, until, 100},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			made := 0
			a, b := bothRandflakes(t, c.node, c.start, c.end, rand.Text(), func() int64 {
				return c.start + int64(made/c.step)
			})
			same := func(id int64) {
				x, xn, xs, errX := a.Inspect(id)
				y, yn, ys, errY := b.Inspect(id)
				if errX != nil || errY != nil || x != y || xn != yn || xs != ys ||
					x != c.start+int64(made/c.step) || xn != c.node {
					t.Fatalf("%d: theirs %d %d %d %v, ours %d %d %d %v", id, x, xn, xs, errX, y, yn, ys, errY)
				}
				text := ours.EncodeString(id)
				if text != theirs.EncodeString(id) {
					t.Fatalf("%d: theirs %s, ours %s", id, theirs.EncodeString(id), text)
				}
				for _, read := range []func(string) (int64, error){
					theirs.DecodeString, ours.DecodeString, ours.DecodeLenient,
				} {
					if back, err := read(text); err != nil || back != id {
						t.Fatalf("%d is %s, read as %d, %v", id, text, back, err)
					}
				}
				if _, _, s, err := a.InspectString(text); err != nil || s != xs {
					t.Fatal(text, s, err)
				}
				if _, _, s, err := b.InspectString(text); err != nil || s != xs {
					t.Fatal(text, s, err)
				}
			}
			var skipped int64
			for ; made < n; made++ {
				x, err := a.Generate()
				must(t, err)
				y, err := b.Generate()
				must(t, err)
				same(x)
				same(y)
				// Theirs begin at 1, and ours at 0. In one second, they
				// make the same numbers.
				if c.step > n && made > 0 && skipped != y {
					t.Fatalf("theirs made %d, and ours %d", skipped, y)
				}
				skipped = x
			}
		})
	}
}

// What the two libraries do with what is no setting, no lease and no ID.
func TestRandflakeRefusals(t *testing.T) {
	const (
		start, end = ours.RANDFLAKE_EPOCH_OFFSET, ours.RANDFLAKE_MAX_TIMESTAMP
		same       = "the same"
	)
	said := func(what any, err error) string {
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(what)
	}
	create := func(node, start, end int64, secret int) func() (string, string) {
		return func() (string, string) {
			_, a := theirs.NewGenerator(node, start, end, make([]byte, secret))
			_, b := ours.NewGenerator(node, start, end, make([]byte, secret))
			return said("ok", a), said("ok", b)
		}
	}
	update := func(from, to int64) func() (string, string) {
		return func() (string, string) {
			a, b := bothRandflakes(t, 1, start+10, start+20, rand.Text(), nil)
			return fmt.Sprint(a.UpdateLease(from, to)), fmt.Sprint(b.UpdateLease(from, to))
		}
	}
	at := func(times ...int64) func() (string, string) {
		return func() (string, string) {
			var now int64
			a, b := bothRandflakes(t, 1, randflakeNoon, randflakeNoon+10, rand.Text(), func() int64 { return now })
			var out [2]string
			for i, g := range []randflakes{a, b} {
				for _, now = range times {
					id, err := g.Generate()
					second, _, _, _ := g.Inspect(id)
					out[i] = said(second-randflakeNoon, err)
				}
			}
			return out[0], out[1]
		}
	}
	text := func(s string) func() (string, string) {
		return func() (string, string) {
			a, errA := theirs.DecodeString(s)
			b, errB := ours.DecodeString(s)
			if c, err := ours.DecodeLenient(s); c != a || (err == nil) != (errA == nil) {
				t.Errorf("DecodeLenient(%q): %d, %v; theirs %d, %v", s, c, err, a, errA)
			}
			return said(a, errA), said(b, errB)
		}
	}
	inspect := func(now int64) func() (string, string) {
		return func() (string, string) {
			a, b := bothRandflakes(t, 1, now, now, rand.Text(), func() int64 { return now })
			id, err := b.Generate()
			must(t, err)
			x, _, _, errX := a.Inspect(id)
			y, _, _, errY := b.Inspect(id)
			return said(x, errX), said(y, errY)
		}
	}
	var (
		lease, node   = ours.ErrInvalidLease.Error(), ours.ErrInvalidNode.Error()
		dead, secret  = ours.ErrRandflakeDead.Error(), ours.ErrInvalidSecret.Error()
		bad, wentBack = ours.ErrInvalidID.Error(), ours.ErrConsistencyViolation.Error()
	)
	for _, c := range []struct {
		what         string
		do           func() (string, string)
		theirs, ours string
	}{
		{"all of time", create(1, start, end, 16), "ok", same},
		{"the last node", create(ours.RANDFLAKE_MAX_NODE, end, end, 16), "ok", same},
		{"a node below 0", create(-1, start, end, 16), node, same},
		{"a node above the last", create(ours.RANDFLAKE_MAX_NODE+1, start, end, 16), node, same},
		{"a lease before the epoch", create(1, start-1, end, 16), lease, same},
		{"a lease that ends before it starts", create(1, start+1, start, 16), lease, same},
		{"a lease after the end", create(1, start, end+1, 16), dead, same},
		{"a secret of 15 bytes", create(1, start, end, 15), secret, same},
		{"a secret of 17 bytes", create(1, start, end, 17), secret, same},
		{"no secret", create(1, start, end, 0), secret, same},
		{"all wrong", create(-1, start-1, start-2, 0), lease, same},
		{"all but the end wrong", create(-1, start-1, end+1, 0), node, same},
		{"start, end and secret wrong", create(1, start-1, end+1, 0), lease, same},
		{"end and secret wrong", create(1, start, end+1, 0), dead, same},

		{"a later end", update(start+10, start+21), "true", same},
		{"the same end", update(start+10, start+20), "false", same},
		{"an earlier end", update(start+10, start+19), "false", same},
		{"another start", update(start+11, start+30), "false", same},
		{"an end before the start", update(start+10, start+9), "false", same},
		{"the end of all", update(start+10, end), "true", same},
		{"an end after it", update(start+10, end+1), "false", same},

		{"the second before the lease", at(randflakeNoon - 1), lease, same},
		{"its first second", at(randflakeNoon), "0", same},
		{"its last second", at(randflakeNoon + 10), "10", same},
		{"the second after the lease", at(randflakeNoon + 11), lease, same},
		{"no time at all", at(math.MinInt64), lease, same},
		{"two seconds back", at(randflakeNoon+6, randflakeNoon+4), "4", wentBack},
		{"a second back and on again", at(randflakeNoon+6, randflakeNoon+5, randflakeNoon+6), "6", same},

		{"text", text("3vgoe12ccb8gh"), "4594531474933654033", same},
		{"in upper case", text("3VGOE12CCB8GH"), "4594531474933654033", same},
		{"in both", text("3vGoe12ccb8gh"), "4594531474933654033", same},
		{"zeros in front", text("0000000000001"), "1", same},
		{"the highest number", text("fvvvvvvvvvvvv"), "-1", same},
		{"65 bits", text("g000000000001"), "1", bad},
		{"14 digits", text("00000000000001"), "1", bad},
		{"no digits", text(""), "0", bad},
		{"padded", text("1="), "1", bad},
		{"more after the padding", text("1=?"), "1", bad},
		{"w", text("w"), bad, same},
		{"a space", text("1 "), bad, same},
		{"no ASCII", text("é"), bad, same},

		{"an ID of 2041-10-31", inspect(start + 1<<29 - 1), fmt.Sprint(start + 1<<29 - 1), same},
		{"and one a second later", inspect(start + 1<<29), lease, fmt.Sprint(start + 1<<29)},
		{"an ID of 2058", inspect(end), lease, fmt.Sprint(end)},
	} {
		a, b := c.do()
		if c.ours == same {
			c.ours = c.theirs
		}
		if a != c.theirs || b != c.ours {
			t.Errorf("%s: theirs %q, want %q; ours %q, want %q", c.what, a, c.theirs, b, c.ours)
		}
	}
	for name, c := range map[string][2]int64{
		"EPOCH_OFFSET":   {theirs.RANDFLAKE_EPOCH_OFFSET, ours.RANDFLAKE_EPOCH_OFFSET},
		"TIMESTAMP_BITS": {theirs.RANDFLAKE_TIMESTAMP_BITS, ours.RANDFLAKE_TIMESTAMP_BITS},
		"NODE_BITS":      {theirs.RANDFLAKE_NODE_BITS, ours.RANDFLAKE_NODE_BITS},
		"SEQUENCE_BITS":  {theirs.RANDFLAKE_SEQUENCE_BITS, ours.RANDFLAKE_SEQUENCE_BITS},
		"MAX_TIMESTAMP":  {theirs.RANDFLAKE_MAX_TIMESTAMP, ours.RANDFLAKE_MAX_TIMESTAMP},
		"MAX_NODE":       {theirs.RANDFLAKE_MAX_NODE, ours.RANDFLAKE_MAX_NODE},
		"MAX_SEQUENCE":   {theirs.RANDFLAKE_MAX_SEQUENCE, ours.RANDFLAKE_MAX_SEQUENCE},
	} {
		if c[0] != c[1] {
			t.Errorf("RANDFLAKE_%s: theirs %d, ours %d", name, c[0], c[1])
		}
	}
	for a, b := range map[error]error{
		theirs.ErrRandflakeDead: ours.ErrRandflakeDead, theirs.ErrInvalidSecret: ours.ErrInvalidSecret,
		theirs.ErrInvalidLease: ours.ErrInvalidLease, theirs.ErrInvalidNode: ours.ErrInvalidNode,
		theirs.ErrResourceExhausted:    ours.ErrResourceExhausted,
		theirs.ErrConsistencyViolation: ours.ErrConsistencyViolation, theirs.ErrInvalidID: ours.ErrInvalidID,
	} {
		if a.Error() != b.Error() {
			t.Errorf("theirs %q, ours %q", a, b)
		}
	}
}

// randflakeAPI is what the programs below use, of either library.
type randflakeAPI func(now func() int64) randflakes

// Programs in which the original makes IDs twice.
func TestRandflakeDuplicates(t *testing.T) {
	const all = ours.RANDFLAKE_MAX_SEQUENCE + 1
	programs := []program[randflakeAPI]{
		{"the sequence begins again in the second in which it is used up", true, func(open randflakeAPI, add func(...int64)) {
			now := int64(randflakeNoon)
			g := open(func() int64 { return now })
			add(upTo(g, 1000)...)
			now++
			add(upTo(g, 2*all)...)
		}},
		{"the clock steps back inside the lease", true, func(open randflakeAPI, add func(...int64)) {
			now := int64(randflakeNoon)
			g := open(func() int64 { return now })
			add(upTo(g, all)...)
			now++
			add(upTo(g, 1000)...)
			now--
			add(upTo(g, 1000)...)
		}},
		{"two generators of a node", true, func(open randflakeAPI, add func(...int64)) {
			now := func() int64 { return randflakeNoon }
			add(upTo(open(now), 1000)...)
			add(upTo(open(now), 1000)...)
		}},
		{"a generator for each request", true, func(open randflakeAPI, add func(...int64)) {
			for range 1000 {
				add(upTo(open(nil), 1)...)
			}
		}},
		{"a goroutine is stalled after it read the clock", true, func(open randflakeAPI, add func(...int64)) {
			now, stall := int64(randflakeNoon), false
			reading, goOn, done := make(chan bool), make(chan bool), make(chan []int64)
			g := open(func() int64 {
				if at := now; stall {
					stall = false
					reading <- true
					<-goOn
					return at
				}
				return now
			})
			add(upTo(g, all-1)...)
			stall = true
			go func() { done <- upTo(g, 1) }()
			<-reading
			now++
			add(upTo(g, 10)...)
			goOn <- true
			add(<-done...)
		}},
	}
	end := time.Now().Unix() + 3600
	pick := func(t *testing.T, own bool) randflakeAPI {
		secret := rand.Text()
		return func(now func() int64) randflakes {
			a, b := bothRandflakes(t, 7, ours.RANDFLAKE_EPOCH_OFFSET, end, secret, now)
			if own {
				return b
			}
			return a
		}
	}
	compare(t, programs, func(t *testing.T, _ int) randflakeAPI { return pick(t, false) },
		func(t *testing.T, _ int) randflakeAPI { return pick(t, true) })
}

// upTo returns n IDs, or what there is before the first error.
func upTo(g randflakes, n int) (ids []int64) {
	for range n {
		id, err := g.Generate()
		if err != nil {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// A reader of docs/move/go-libraries.md changes one import path. The IDs
// are as before, and programs that were not changed read them.
func TestMoveFromRandflake(t *testing.T) {
	printed := follow(t, "go-libraries.md", `package main

import (
	"fmt"
	"time"

	"gosuda.org/randflake"
)

func main() {
	now := time.Now().Unix()
	g, err := randflake.NewGenerator(42, now, now+600, []byte("super-secret-key"))
	if err != nil {
		panic(err)
	}
	if !g.UpdateLease(now, now+1200) {
		panic(g.GetLeaseInfo())
	}
	text, err := g.GenerateString()
	if err != nil && err != randflake.ErrInvalidLease {
		panic(err)
	}
	fmt.Print(text)
}
`)
	const first = ours.RANDFLAKE_EPOCH_OFFSET
	g, err := theirs.NewGenerator(1, first, first, []byte("super-secret-key"))
	must(t, err)
	second, node, _, err := g.InspectString(printed)
	if err != nil || node != 42 || time.Since(time.Unix(second, 0)).Abs() > time.Hour {
		t.Errorf("%q: node %d at %v, %v", printed, node, time.Unix(second, 0), err)
	}
}
