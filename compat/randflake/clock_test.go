package randflake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// systemClock returns a generator with the system's clock and a lease around now.
func systemClock(t testing.TB, node int64) *Generator {
	t.Helper()
	now := time.Now().Unix()
	g, err := NewGenerator(node, now-3600, now+9*3600, secretOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// noonOn moves the clock of a bubble, which starts in 2000, into the life of the layout.
func noonOn(t testing.TB) {
	t.Helper()
	time.Sleep(time.Until(time.Unix(noon, 0)))
}

// With the system's clock, a generator does not ask for the time before each ID. It never
// gives one of a second that is over.
func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		g := systemClock(t, 7)
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

// Between two looks at the clock it is taken to go on, for 10 ms at most.
func TestSystemClockIsLookedAt(t *testing.T) {
	g := systemClock(t, 7)
	for range 100 {
		_, sure := g.wall()
		if left := sure - int64(time.Since(g.start)); left > int64(trust) {
			t.Fatalf("sure for %v", time.Duration(left))
		}
	}
	if _, err := g.Generate(); err != nil {
		t.Fatal(err)
	}
	b := g.batch.Load()
	if sure := b.sure.Load(); sure <= 0 || sure > int64(time.Since(g.start)+trust) {
		t.Errorf("a new batch is sure until %v", time.Duration(sure))
	}
	b.sure.Store(0)
	if now := g.read(b); now == b.second && b.sure.Load() == 0 {
		t.Error("a look at the clock does not last")
	}
	before := b.sure.Load()
	b.second--
	if g.read(b); b.sure.Load() != before {
		t.Error("a batch of another second is taken for one of this")
	}
}

// The system's clock is behind what another generator of the node used: as if it had gone
// back.
func TestSystemClockGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		g, ahead := systemClock(t, 7), systemClock(t, 7)
		ahead.TimeSource = func() int64 { return time.Now().Unix() + 5 }
		generate(t, g)
		m := generate(t, ahead)
		for range 5 {
			refuses(t, g, ErrConsistencyViolation) // also for what it has at hand
			time.Sleep(time.Second)
		}
		if n := generate(t, g); n.second != m.second || n.sequence <= m.sequence {
			t.Errorf("%+v after %+v", n, m)
		}
	})
}

func TestClockBehindIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		g, ahead := systemClock(t, 7), systemClock(t, 7)
		ahead.TimeSource = func() int64 { return time.Now().Unix() + 5 }
		last := generate(t, ahead)
		start := time.Now()
		id, err := g.GenerateContext(t.Context())
		second, _, _, _ := g.Inspect(id)
		if err != nil || second != last.second || time.Since(start) != 5*time.Second {
			t.Errorf("%d, %v after %v", second-noon, err, time.Since(start))
		}
		leave(g, last.second, 0)
		for range 2 * batchSize { // more than it has at hand
			if id, err = g.GenerateContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if second, _, _, _ := g.Inspect(id); second != last.second+1 || time.Since(start) != 6*time.Second {
			t.Errorf("%d, after %v", second-noon, time.Since(start))
		}
	})
}

// Goroutines that read the clock, and are stalled before they use it, repeat nothing. Nor
// do they say that the clock went back, because it did not.
func TestStalledAfterTheClock(t *testing.T) {
	var now atomic.Int64
	now.Store(noon)
	g := generator(t, 7, noon, noon+100, new(int64))
	g.TimeSource = now.Load
	seen := map[made]bool{}
	for i := range 50 {
		stalled := g // with IDs of the second at hand, which it may give out
		if i%2 == 0 {
			stalled = generator(t, 7, noon, noon+100, new(int64))
		}
		reading, goOn, done := make(chan bool), make(chan bool), make(chan made)
		var once sync.Once
		stalled.TimeSource = func() int64 {
			at := now.Load()
			once.Do(func() {
				reading <- true
				<-goOn
			})
			return at
		}
		go func() {
			id, err := stalled.Generate()
			if err != nil {
				t.Error(err)
			}
			second, node, sequence, _ := g.Inspect(id)
			done <- made{second, node, sequence}
		}()
		<-reading
		fresh := generator(t, 7, noon, noon+100, new(int64))
		fresh.TimeSource = now.Load
		now.Add(1)
		m := generate(t, fresh)
		goOn <- true
		late := <-done
		if late.second != now.Load() && stalled != g || m.second != now.Load() || m == late || seen[m] || seen[late] {
			t.Fatalf("%+v and %+v", m, late)
		}
		seen[m], seen[late] = true, true
		g.TimeSource = now.Load
		for range 3 {
			m := generate(t, g)
			if seen[m] {
				t.Fatalf("%+v twice", m)
			}
			seen[m] = true
		}
	}
}

// A clock that went back while a call was stalled is one that went back.
func TestStalledWhileTheClockGoesBack(t *testing.T) {
	g := generator(t, 7, noon, noon+100, new(int64))
	other := generator(t, 7, noon, noon+100, new(int64))
	other.TimeSource = func() int64 { return noon + 9 }
	reads := 0
	g.TimeSource = func() int64 {
		if reads++; reads == 1 {
			generate(t, other)
			return noon + 8 // read before noon + 9 was used
		}
		return noon + 7
	}
	refuses(t, g, ErrConsistencyViolation)
	if reads != 2 {
		t.Errorf("the clock was read %d times", reads)
	}
}

// Many goroutines and generators, and a clock that goes on: each ID once, inside the
// lease, none refused for a clock that went back.
func TestGoroutines(t *testing.T) {
	var now atomic.Int64
	now.Store(noon)
	var ids sync.Map
	var all sync.WaitGroup
	for i := range int64(4) {
		g, err := NewGenerator(7, noon, noon+1000+i, secretOf(t))
		if err != nil {
			t.Fatal(err)
		}
		g.TimeSource = now.Load
		for range 2 {
			all.Go(func() {
				for n := range 5000 {
					if n%100 == 0 {
						now.Add(1)
					}
					id, err := g.Generate()
					if err != nil {
						t.Error(err)
						return
					}
					if _, twice := ids.LoadOrStore(id, true); twice {
						t.Errorf("%d twice", id)
					}
				}
			})
		}
	}
	all.Wait()
}

// The clock jumps while many goroutines look at it: each ID once, inside the lease.
func TestGoroutinesWhileTheClockJumps(t *testing.T) {
	var ids sync.Map
	var now, calls, made atomic.Int64
	now.Store(noon)
	var all sync.WaitGroup
	for i := range int64(3) {
		g := generator(t, 7, noon-i, noon+300+i, new(int64))
		g.TimeSource = now.Load
		for k := range uint64(2) {
			r := rand.New(rand.NewPCG(uint64(i), k))
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
					if twice || node != 7 || second < g.leaseStart || second > g.leaseEnd.Load() {
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

// The same with the system's clock, batches of which several goroutines use up, and
// generators that close.
func TestGoroutinesWithTheSystemClock(t *testing.T) {
	var ids sync.Map
	var all sync.WaitGroup
	for range 2 {
		g := systemClock(t, 7)
		for range 3 {
			all.Go(func() {
				for range 5000 {
					id, err := g.Generate()
					if err != nil {
						t.Error(err)
						return
					}
					if _, twice := ids.LoadOrStore(id, true); twice {
						t.Errorf("%d twice", id)
					}
				}
			})
		}
	}
	all.Wait()
}

// oracle says what the generators of one node have to answer: it knows the second that
// was used last, and every ID.
type oracle struct {
	last int64
	seen map[made]bool
	used map[int64]int
}

func (o *oracle) check(g *Generator, now int64) error {
	id, err := g.Generate()
	info := g.GetLeaseInfo()
	switch {
	case now < info.LeaseStart || now > info.LeaseEnd:
		if err != ErrInvalidLease {
			return fmt.Errorf("outside the lease: %w", err)
		}
		return nil
	case now < o.last:
		if err != ErrConsistencyViolation {
			return fmt.Errorf("%d s back: %w", o.last-now, err)
		}
		return nil
	case err == ErrResourceExhausted:
		// IDs that another generator of the node has at hand count as used.
		if at := o.used[now]; at < RANDFLAKE_MAX_SEQUENCE+1-3*batchSize {
			return fmt.Errorf("used up after %d", at)
		}
		return nil
	case err != nil:
		return err
	}
	second, node, sequence, err := g.Inspect(id)
	m := made{second, node, sequence}
	if err != nil || second != now || node != info.NodeID || o.seen[m] {
		return fmt.Errorf("%+v at %d, twice: %v, %w", m, now-noon, o.seen[m], err)
	}
	o.last, o.seen[m] = now, true
	o.used[now]++
	return nil
}

// jump runs a clock that jumps as the bytes say, for three generators of one node with
// leases that overlap.
func jump(t *testing.T, jumps []byte) {
	now := int64(noon)
	secret := secretOf(t, rand.Uint64()) // an input may run twice in a test
	var gs []*Generator
	for i := range int64(3) {
		g, err := NewGenerator(7, noon-5*i, noon+20+5*i, secret)
		if err != nil {
			t.Fatal(err)
		}
		g.TimeSource = func() int64 { return now }
		gs = append(gs, g)
	}
	o := &oracle{last: -1, seen: map[made]bool{}, used: map[int64]int{}}
	for i, b := range jumps {
		g := gs[b%3]
		switch b >> 2 & 7 {
		case 0:
			now += int64(b>>5) - 4
		case 1:
			now++
		case 2:
			now--
		case 3:
			now = noon + int64(b>>5)*4 - 4
		case 4:
			g.UpdateLease(g.leaseStart, g.leaseEnd.Load()+int64(b>>5))
		}
		n := 1
		if b>>2&7 == 7 { // most of a second
			n = 1 << (b >> 5 * 2)
		}
		for range n {
			if err := o.check(g, now); err != nil {
				t.Fatalf("step %d of %v, %d after noon: %v", i, jumps, now-noon, err)
			}
		}
	}
}

// A clock may do what it wants: no ID comes twice, and each call gets what the clock, the
// lease and the seconds used so far say.
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
