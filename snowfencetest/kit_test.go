package snowfencetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/snowfencetest"
)

func TestIDsOfASeedAreTheSame(t *testing.T) {
	make5 := func(seed uint64) []snowfence.ID {
		k := snowfencetest.New(t, seed)
		ids := []snowfence.ID{k.ID(), k.ID()}
		k.Advance(time.Hour)
		ids = append(ids, k.ID())
		k.LoseLease()
		k.Restore()
		ids = append(ids, k.ID())
		k.SequenceFull()
		k.Restore()
		return append(ids, k.ID())
	}
	first := make5(7)
	if again := make5(7); !slices.Equal(first, again) || !slices.IsSorted(first) {
		t.Errorf("seed 7 makes %v, then %v", first, again)
	}
	seen := map[snowfence.ID]uint64{}
	for _, seed := range []uint64{0, 1, 7, 1023, 1024, 1031, 1 << 20, 10_239_999, 1 << 63, 1<<64 - 1} {
		for _, id := range make5(seed) {
			if other, dup := seen[id]; dup {
				t.Errorf("seeds %d and %d make %d", seed, other, id)
			}
			seen[id] = seed
		}
	}
}

// Outside of a bubble nothing waits, and the time of IDs is the test's.
func TestClockIsTheTests(t *testing.T) {
	k := snowfencetest.New(t, 1)
	at := func() time.Time {
		p := tests.Must(k.Scheme().Decode(k.ID()))
		return p.Time
	}
	start := k.Now()
	if got := at(); !got.Equal(start) {
		t.Errorf("the first ID is of %v, and it is %v", got, start)
	}
	k.Advance(36 * time.Hour)
	if got := at(); !got.Equal(start.Add(36*time.Hour)) || !k.Now().Equal(got) {
		t.Errorf("36 hours later it is of %v", got)
	}
	// More than a tick holds: where it would wait, the clock moves.
	ids := make([]snowfence.ID, 10*4096)
	if n, err := k.Fill(t.Context(), ids); n != len(ids) || err != nil || !slices.IsSorted(ids) {
		t.Errorf("filled %d, %v", n, err)
	}
	if passed := k.Now().Sub(start.Add(36 * time.Hour)); passed < 9*time.Millisecond || passed > time.Second {
		t.Errorf("for 10 ticks the clock moved by %v", passed)
	}
	before := k.ID()
	k.Step(-time.Hour)
	k.Advance(20 * time.Millisecond)
	if got := at(); got.Before(start.Add(36*time.Hour)) || k.ID() < before {
		t.Errorf("after a step back an ID is of %v", got)
	}
	if want := start.Add(35 * time.Hour); k.Now().Sub(want).Abs() > time.Second {
		t.Errorf("after a step back it is %v", k.Now())
	}
	k.Advance(k.Scheme().Layout().EndOfLife().Sub(k.Now()) + 2*time.Hour)
	tests.WantErr(t, tests.ErrOf(k.Next(t.Context())), snowfence.ErrLifetime, "after the end of the layout")
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault  func(*snowfencetest.Kit)
		want   error
		says   string
		missed bool // also while the grant lasts
	}{
		"lease lost": {(*snowfencetest.Kit).LoseLease, snowfence.ErrFenced, "LoseLease", true},
		"store unreachable": {
			func(k *snowfencetest.Kit) { k.StoreUnreachable(); k.ID(); k.Advance(16 * time.Second) },
			snowfence.ErrFenced, "StoreUnreachable", true,
		},
		"sequence full": {(*snowfencetest.Kit).SequenceFull, snowfence.ErrExhausted, "used up", true},
		"both": {
			func(k *snowfencetest.Kit) { k.StoreUnreachable(); k.LoseLease(); k.StoreUnreachable() },
			snowfence.ErrFenced, "LoseLease", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := snowfencetest.New(t, 3)
			last := k.ID()
			for range 3 {
				c.fault(k)
				for range 3 {
					_, err := k.Next(t.Context())
					tests.Refuses(t, err, c.want, c.says)
					tests.WantErr(t, tests.ErrOf(k.TryNext()), c.want, "TryNext")
				}
				k.Restore()
				for range 5 {
					id := k.ID()
					if id <= last {
						t.Errorf("%d after %d", id, last)
					}
					last = id
				}
			}
		})
	}
}

func TestSequenceIsThereAgainWithTheNextTick(t *testing.T) {
	k := snowfencetest.New(t, 4)
	k.SequenceFull()
	tests.WantErr(t, tests.ErrOf(k.TryNext()), snowfence.ErrExhausted, "")
	k.Advance(time.Millisecond)
	tests.Must(k.TryNext())
	if n, err := k.Fill(t.Context(), make([]snowfence.ID, 10000)); err != nil {
		t.Errorf("%d, %v: the clock stands still after Advance", n, err)
	}
}

// In a bubble IDs have the bubble's time, and Next waits for the next tick.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := snowfencetest.New(t, 5)
		start, began := k.Now(), time.Now()
		time.Sleep(time.Hour)
		p, err := k.Scheme().Decode(k.ID())
		if err != nil || !p.Time.Equal(start.Add(time.Hour)) {
			t.Errorf("an hour later an ID is of %v, not %v, %v", p.Time, start.Add(time.Hour), err)
		}
		k.SequenceFull()
		_, err = k.Next(t.Context())
		if !errors.Is(err, snowfence.ErrExhausted) || time.Since(began) != time.Hour+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		k.Restore()
		var wg sync.WaitGroup
		for range 4 { // 12,000 numbers are three ticks of waiting
			wg.Go(func() {
				tests.NoError(t, tests.ErrOf(k.Fill(t.Context(), make([]snowfence.ID, 3000))))
			})
		}
		wg.Wait()
		k.StoreUnreachable()
		time.Sleep(16 * time.Second)
		tests.WantErr(t, tests.ErrOf(k.Next(t.Context())), snowfence.ErrFenced, "")
		go func() {
			time.Sleep(10 * time.Second)
			k.Restore()
		}()
		for _, err = k.Next(t.Context()); err != nil; _, err = k.Next(t.Context()) {
			time.Sleep(time.Second)
		}
	})
}

// Whatever happens at the same time, no ID comes twice.
func TestKitsOfManyGoroutines(t *testing.T) {
	k := snowfencetest.New(t, 6)
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	stop := make(chan struct{})
	var takers, faults sync.WaitGroup
	for range 4 {
		takers.Go(func() {
			for range 2000 {
				if id, err := k.Next(context.Background()); err == nil {
					mu.Lock()
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				}
			}
		})
	}
	for _, fault := range []func(){
		k.LoseLease, k.StoreUnreachable, k.SequenceFull, k.Restore, k.Restore,
		func() { k.Advance(3 * time.Second) }, func() { k.Step(-time.Second) },
	} {
		faults.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					fault()
				}
			}
		})
	}
	takers.Wait()
	close(stop)
	faults.Wait()
	k.Restore()
	if id := k.ID(); seen[id] { // perhaps the only one: faults may win each time
		t.Errorf("%d came twice", id)
	}
}

func TestOtherSchemes(t *testing.T) {
	secret := snowfence.GenerateSecret()
	for _, spec := range []string{
		"twitter", "sonyflake", "baidu", "drift", "time=30,seq=10,tick=1m", "time=8,seq=53", "time=41,node=22",
		"time=41,node=8,rollback=2,seq=12", "time=31,node=17,seq=16,tick=1s,cipher=sparx,epoch=2025-01-01",
		"time=41,node=10,seq=2,cipher=ff1", "randflake",
	} {
		l := tests.Must(snowfence.ParseLayout(spec))
		var secrets []*snowfence.Secret
		if l.Cipher != snowfence.Plain {
			secrets = append(secrets, secret)
		}
		s := tests.Must(snowfence.NewScheme(l, secrets...))
		t.Run(spec, func(t *testing.T) {
			k := snowfencetest.NewFor(t, 1<<40+3, s)
			k.ID()
			k.SequenceFull()
			tests.WantErr(t, tests.ErrOf(k.TryNext()), snowfence.ErrExhausted, "")
			k.Restore()
			k.Advance(l.Tick)
			k.ID()
		})
	}
}
