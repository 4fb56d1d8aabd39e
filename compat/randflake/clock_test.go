package randflake

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// noonOn moves the clock of a bubble, which starts in 2000, into the life
// of the layout.
func noonOn(t testing.TB) {
	t.Helper()
	time.Sleep(time.Until(time.Unix(noon, 0)))
}

// With the system's clock, a generator gives no ID of a second that is
// over.
func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		g := must(NewGenerator(7, noon, noon+9*3600, secretOf(t)))
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 20000 {
			if m := generate(t, g); m.second != time.Now().Unix() {
				t.Fatalf("call %d at %v has the second %v", i, time.Now(), time.Unix(m.second, 0))
			}
			switch r.IntN(4) {
			case 0:
				time.Sleep(time.Duration(r.IntN(12)) * time.Millisecond)
			case 1: // to the edge of a second
				next := time.Now().Truncate(time.Second).Add(time.Second)
				time.Sleep(time.Until(next) - time.Duration(r.IntN(2)))
			}
		}
	})
}

// A program that waits gets an ID when its clock is where the node was
// used.
func TestClockBehindIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var ahead atomic.Int64
		ahead.Store(5)
		g := generator(t, 7, noon, noon+3600, new(int64))
		g.TimeSource = func() int64 { return time.Now().Unix() + ahead.Load() }
		last := generate(t, g)
		ahead.Store(0)
		refuses(t, g, ErrConsistencyViolation)
		start := time.Now()
		id, err := g.GenerateContext(t.Context())
		second, _, _, _ := g.Inspect(id)
		if err != nil || second != last.second || time.Since(start) != 5*time.Second {
			t.Errorf("%d, %v after %v", second-noon, err, time.Since(start))
		}
		for err == nil {
			_, err = g.Generate()
		}
		id = must(g.GenerateContext(t.Context()))
		if second, _, _, _ := g.Inspect(id); second != last.second+1 || time.Since(start) != 6*time.Second {
			t.Errorf("%d, after %v", second-noon, time.Since(start))
		}
	})
}

// The clock jumps while many goroutines look at it: each ID once, inside
// the lease.
func TestGoroutinesWhileTheClockJumps(t *testing.T) {
	var ids sync.Map
	var now, calls, made atomic.Int64
	now.Store(noon)
	var all sync.WaitGroup
	for i := range uint64(3) {
		g := generator(t, 7, noon, noon+300, new(int64))
		g.TimeSource = now.Load
		for k := range uint64(2) {
			r := rand.New(rand.NewPCG(i, k))
			all.Go(func() {
				for range 10000 {
					if r.IntN(20) == 0 {
						now.Store(noon + calls.Load()/250 + int64(r.IntN(5)) - 2)
					}
					calls.Add(1)
					id, err := g.Generate()
					if err != nil {
						continue
					}
					made.Add(1)
					second, node, _, _ := g.Inspect(id)
					_, twice := ids.LoadOrStore(id, true)
					if twice || node != 7 || second < noon || second > noon+300 {
						t.Errorf("%d at %d, twice: %v", id, second-noon, twice)
					}
				}
			})
		}
	}
	all.Wait()
	if n := made.Load(); n < 1000 {
		t.Errorf("only %d IDs", n)
	}
}

// A generator with a TimeSource shares with no other: it has its own time,
// and the one before it ends.
func TestTimeSourceIsNotShared(t *testing.T) {
	run := rand.Uint64()
	early, late := int64(noon), int64(noon+100)
	a, b := generator(t, 7, noon, noon+300, &early, run), generator(t, 7, noon, noon+300, &late, run)
	for i, g := range []*Generator{a, b} {
		id, err := g.Generate()
		if second, _, _, _ := g.Inspect(id); err != nil || second != noon+int64(i)*100 {
			t.Errorf("generator %d made an ID at %d, %v", i, second-noon, err)
		}
	}
	wantErr(t, errOf(a.Generate()), snowfence.ErrClosed, "the first one")
}

// oracle says what the generators of one node have to answer: it knows the
// second that was used last, and every ID.
type oracle struct {
	last int64
	seen map[made]bool
	used map[int64]int
	over bool // the lease was: the next holder begins in a second without IDs
}

func (o *oracle) check(g *Generator, now, end int64) error {
	id, err := g.Generate()
	switch {
	case now < noon || now > end:
		o.over = o.over || now > end
		if err != ErrInvalidLease {
			return fmt.Errorf("outside the lease: %w", err)
		}
		return nil
	case o.over && o.last == end && err == ErrInvalidLease, o.over && o.last == now && err == ErrConsistencyViolation:
		return nil
	case now < o.last:
		if err != ErrConsistencyViolation && (err != ErrResourceExhausted || now < o.last-1) {
			return fmt.Errorf("%d s back: %w", o.last-now, err)
		}
		return nil
	case err == ErrResourceExhausted:
		if at := o.used[now]; at < RANDFLAKE_MAX_SEQUENCE+1 {
			return fmt.Errorf("used up after %d", at)
		}
		return nil
	case err != nil:
		return err
	}
	second, node, sequence, err := g.Inspect(id)
	m := made{second, node, sequence}
	if err != nil || second != now || node != 7 || o.seen[m] {
		return fmt.Errorf("%+v at %d, twice: %v, %w", m, now-noon, o.seen[m], err)
	}
	o.last, o.seen[m] = now, true
	o.used[now]++
	return nil
}

// jump runs a clock that jumps as the bytes say.
func jump(t *testing.T, jumps []byte) {
	now, end := int64(noon), int64(noon+20)
	g := generator(t, 7, noon, end, &now, rand.Uint64()) // an input may run twice in a test
	o := &oracle{last: -1, seen: map[made]bool{}, used: map[int64]int{}}
	for i, b := range jumps {
		switch b >> 2 & 7 {
		case 0:
			now += int64(b>>5) - 4
		case 1:
			now++
		case 2:
			now--
		case 3:
			now = noon + int64(b>>5)*4 - 4
		}
		n := 1
		if b>>2&7 == 7 { // most of a second
			n = 1 << (b >> 5 * 2)
		}
		for range n {
			if err := o.check(g, now, end); err != nil {
				t.Fatalf("step %d, %d after noon: %v, of %v", i, now-noon, err, jumps)
			}
		}
	}
}

// A clock may do what it wants: no ID comes twice, and each call gets what
// the clock, the lease and the seconds used so far say.
func FuzzTimeSource(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{28, 29, 30, 5, 28, 9, 8, 13, 240, 255, 255, 28})
	r := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		b := make([]byte, 150)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, jumps []byte) { jump(t, jumps[:min(len(jumps), 300)]) })
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "0", "3vgoe12ccb8gh", "=", "VV=", "00000000000000", "é", "g000000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := DecodeString(s)
		lenient, lerr := DecodeLenient(s)
		if err == nil && (lerr != nil || lenient != id) {
			t.Errorf("%q is %d, and leniently %d, %v", s, id, lenient, lerr)
		}
		if err != nil && !errors.Is(err, ErrInvalidID) || lerr != nil && !errors.Is(lerr, ErrInvalidID) {
			t.Errorf("%q: %v, %v", s, err, lerr)
		}
		if back, err := DecodeString(EncodeString(lenient)); err != nil || back != lenient {
			t.Errorf("%d is written %s and read as %d, %v", lenient, EncodeString(lenient), back, err)
		}
	})
}

// The original refuses to read IDs from 2041 on, although it makes them.
func TestInspectAfter2041(t *testing.T) {
	now := int64(RANDFLAKE_EPOCH_OFFSET + 1<<29)
	g := generator(t, RANDFLAKE_MAX_NODE, now, RANDFLAKE_MAX_TIMESTAMP, &now)
	for _, at := range []int64{now, now + 12345, RANDFLAKE_MAX_TIMESTAMP} {
		now = at
		if m := generate(t, g); m != (made{at, RANDFLAKE_MAX_NODE, 0}) {
			t.Errorf("%+v at %s", m, time.Unix(at, 0))
		}
	}
}

func TestSecretShowsNowhere(t *testing.T) {
	secret := secretOf(t)
	now := int64(noon)
	g := generator(t, 7, noon, noon, &now)
	generate(t, g)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", g)
	}
	text := strings.ToLower(out.String())
	for _, part := range []string{
		hex.EncodeToString(secret[:4]), string(secret[:4]), strings.Trim(fmt.Sprint(secret[:4]), "[]"),
	} {
		if strings.Contains(text, strings.ToLower(part)) {
			t.Errorf("the secret shows as %q", part)
		}
	}
}
