package workerid

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// TestWhatTheOriginalDoesIsNoticed: within a third of the TTL the generator
// is sealed, the key is left alone, and another number is taken.
func TestWhatTheOriginalDoesIsNoticed(t *testing.T) {
	for name, do := range map[string]func(s *simulated, n int64){
		"takes":         func(s *simulated, n int64) { s.set(n, time.Hour) },
		"renews":        func(s *simulated, n int64) { s.expire(n, 21*time.Second) },
		"deletes":       func(s *simulated, n int64) { s.del(n) },
		"never expires": (*simulated).persist,
		"shortens":      func(s *simulated, n int64) { s.expire(n, 14*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated()
				f := fence(t, registrar(t, s, Options{}))
				g := generator(t, f, snowfence.Config{}, 0)
				works(t, g)
				time.Sleep(21500 * time.Millisecond) // some renewals
				works(t, g)
				w, before := worker(t, f), s.expiry(63)
				do(s, 63)
				after := s.expiry(63)
				if before == after {
					t.Fatal("nothing was done")
				}
				noticed(t, w)
				fails(t, g, snowfence.ErrFenced)
				if got := s.expiry(63); got != after {
					t.Errorf("the key was written: it expires at %d, not %d", got, after)
				}
				time.Sleep(3 * time.Second)
				works(t, g)
				if n := worker(t, f).number; n != 62 {
					t.Errorf("then the fence has number %d", n)
				}
				noError(t, g.Close())
			})
		})
	}
}

// noticed waits until a number is lost, for a third of the TTL.
func noticed(t *testing.T, w *Worker) {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(5*time.Second + time.Millisecond):
		t.Fatal("it was not noticed within a third of the TTL")
	}
}

// TestNoAcknowledgedRenewal cuts Redis off. The clock of this machine is
// behind, so that its ticks would last for longer than the TTL.
func TestNoAcknowledgedRenewal(t *testing.T) {
	for _, lost := range []string{"requests", "answers"} {
		t.Run(lost, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated()
				var sent atomic.Pointer[time.Time]
				slow := func(op string, _ int64) error {
					if op == "move" {
						now := time.Now()
						sent.Store(&now)
						time.Sleep(900 * time.Millisecond)
					}
					return nil
				}
				s.hook(slow, nil)
				f := fence(t, registrar(t, s, Options{}))
				g := generator(t, f, snowfence.Config{MaxWait: 20 * time.Second}, -10*time.Second)
				works(t, g)
				time.Sleep(30 * time.Second)
				works(t, g)
				last := *sent.Load()
				if lost == "requests" {
					s.cut()
				} else {
					s.hook(nil, func(op string, _ int64) error {
						if op == "" {
							return nil
						}
						return errCut
					})
				}
				time.Sleep(time.Until(last.Add(15*time.Second - time.Millisecond)))
				works(t, g)
				time.Sleep(time.Millisecond)
				synctest.Wait()
				fails(t, g, snowfence.ErrFenced)
				s.hook(nil, nil)
				time.Sleep(20 * time.Second)
				works(t, g)
				noError(t, g.Close())
			})
		})
	}
}

// TestACallThatHangsDelaysNothing: the number ends although the client does
// not return.
func TestACallThatHangsDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		w := one(t, registrar(t, s, Options{}))
		hang := make(chan struct{})
		s.hook(func(op string, _ int64) error {
			if op == "move" {
				<-hang
			}
			return nil
		}, nil)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		wantErr(t, w.Err(), ErrLost, "after the TTL")
		close(hang)
	})
}

// TestALateAcknowledgementComesTooLate: it is not used after the TTL, as
// after a pause of this process.
func TestALateAcknowledgementComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		w := one(t, registrar(t, s, Options{}))
		w.timer.Stop() // as if this process had not run
		start := time.Now()
		s.hook(func(op string, _ int64) error {
			if op == "move" && time.Since(start) < 13500*time.Millisecond {
				return errCut
			}
			return nil
		}, func(op string, _ int64) error {
			if op == "move" {
				time.Sleep(3 * time.Second) // it was asked before the deadline
			}
			return nil
		})
		time.Sleep(25 * time.Second)
		wantErr(t, w.Err(), ErrLost, "after the TTL")
	})
}

// TestANumberThatCameTooLate ends at once, though its timer fires while it
// is made.
func TestANumberThatCameTooLate(t *testing.T) {
	r := registrar(t, newSimulated(), Options{Logger: slog.New(slog.DiscardHandler)})
	for range 1000 {
		<-newWorker(r, 63, 0, time.Now().Add(-16*time.Second), sight{}).Done()
	}
	if n := len(r.all()); n > 0 {
		t.Errorf("%d numbers are still held", n)
	}
}

// TestARenewalWithoutAnAnswer is repeated, and the number stays ours
// whether it was done or not.
func TestARenewalWithoutAnAnswer(t *testing.T) {
	for _, done := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated()
			w := one(t, registrar(t, s, Options{}))
			tries := 0
			fail := func(op string, _ int64) error {
				if op == "move" {
					if tries++; tries < 4 {
						return errCut
					}
				}
				return nil
			}
			if done {
				s.hook(nil, fail)
			} else {
				s.hook(fail, nil)
			}
			time.Sleep(time.Minute)
			if err := w.Err(); err != nil || tries < 10 {
				t.Errorf("done %v: %v after %d tries", done, err, tries)
			}
			s.hook(nil, func(op string, _ int64) error {
				if op == "move" {
					return errCut
				}
				return nil
			})
			time.Sleep(6 * time.Second)
			s.hook(nil, nil)
			if err := w.Close(); err != nil || s.expiry(63) != 0 {
				t.Errorf("done %v: %v, and the key expires at %d", done, err, s.expiry(63))
			}
		})
	}
}

// TestAGiveBackKeepsTheTicksThatWereUsed: the next holder begins above
// them, although its clock is right and the clock of the last one was
// ahead.
func TestAGiveBackKeepsTheTicksThatWereUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{Min: 63})
		f := fence(t, r)
		g := generator(t, f, snowfence.Config{}, 9*time.Second)
		last := must(f.Scheme().Decode(works(t, g)))
		noError(t, g.Close())
		if got, want := s.expiry(63), f.start(last.Tick+1); got != want {
			t.Errorf("the key expires at %d, want %d", got, want)
		}
		next := fence(t, r)
		gr, ok := next.Held(0)
		if !ok || gr.From <= last.Tick {
			t.Errorf("the next grant is %+v, %v; tick %d was used", gr, ok, last.Tick)
		}
		end := s.expiry(63)
		if err := next.Close(); err != nil || s.expiry(63) != end {
			t.Error("what was handed out without a generator is given back", err)
		}
	})
}

func TestClosingTheNumberSealsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{Min: 63})
		f := fence(t, r)
		g := generator(t, f, snowfence.Config{}, 9*time.Second)
		last := must(f.Scheme().Decode(works(t, g)))
		sealed := false
		s.hook(func(op string, _ int64) error {
			if op == "move" {
				_, err := g.TryNext()
				sealed = errors.Is(err, snowfence.ErrFenced)
			}
			return nil
		}, nil)
		if err := r.UnRegister(); err != nil || !sealed {
			t.Error(sealed, err)
		}
		if got, want := s.expiry(63), f.start(last.Tick+1); got != want {
			t.Errorf("the key expires at %d, want %d", got, want)
		}
		wantErr(t, errOf(f.Grant(t.Context(), 0)), ErrClosed, "after UnRegister")
		s.cut() // it is given back once
		noError(t, g.Close())
	})
}

// TestAGiveBackIsRepeated after an error, and is done once.
func TestAGiveBackIsRepeated(t *testing.T) {
	for _, done := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated()
			f := fence(t, registrar(t, s, Options{}))
			g := generator(t, f, snowfence.Config{}, 0)
			works(t, g)
			fail := func(op string, _ int64) error {
				if op == "move" {
					return errCut
				}
				return nil
			}
			if done {
				s.hook(nil, fail)
			} else {
				s.hook(fail, nil)
			}
			wantErr(t, g.Shutdown(t.Context()), errCut, "a give-back that fails")
			s.hook(nil, nil)
			if err := g.Shutdown(t.Context()); err != nil {
				t.Error(done, err)
			}
			time.Sleep(2 * time.Millisecond) // until the tick that was used is over
			if s.expiry(63) != 0 {
				t.Error(done, s.expiry(63))
			}
		})
	}
}

func TestANumberThatSettlesIsGivenBackWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
		defer cancel()
		wantErr(t, errOf(r.RegisterOne(ctx)), context.DeadlineExceeded, "nobody waits")
		if s.taken() > 0 || len(r.all()) > 0 {
			t.Error("it is still taken")
		}
	})
}

// TestTheClockOfRedisGoesBack: what was granted stays below the expiry,
// which is not lowered.
func TestTheClockOfRedisGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		f := fence(t, registrar(t, s, Options{}))
		before, _ := f.Held(0)
		s.mu.Lock()
		s.offset = -10 * time.Second
		s.mu.Unlock()
		for range 14 {
			time.Sleep(time.Second)
			now, ok := f.Held(0)
			if !ok || now.Until < before.Until {
				t.Fatalf("the grant is %+v after %+v, %v", now, before, ok)
			}
			before = now
			if end := f.layout.TickOf(time.UnixMilli(s.expiry(63))); end < now.Until {
				t.Fatalf("the key expires at tick %d, and %d is granted", end, now.Until)
			}
		}
		noError(t, f.Close())
	})
}

// TestTheClockOfRedisGoesAhead: the key expires earlier than we meant, and
// IDs end before it.
func TestTheClockOfRedisGoesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		f := fence(t, registrar(t, s, Options{}))
		g := generator(t, f, snowfence.Config{}, -10*time.Second)
		w := worker(t, f)
		time.Sleep(4 * time.Second)
		s.mu.Lock()
		s.offset = 8 * time.Second
		s.mu.Unlock()
		s.hook(nil, func(op string, _ int64) error {
			if op == "move" {
				s.cut() // before the next one, which follows at once
			}
			return nil
		})
		time.Sleep(3500 * time.Millisecond) // a renewal, by the old time
		end := s.expiry(63) - s.now()
		if end > 9000 {
			t.Fatalf("the key lives for %d ms more", end)
		}
		time.Sleep(time.Duration(end+1) * time.Millisecond)
		synctest.Wait()
		fails(t, g, snowfence.ErrFenced)
		if w.Err() == nil {
			t.Error("the number is held when its key has expired")
		}
		noError(t, g.Close())
	})
}

// TestGrantsEndWhereRedisSaid: a renewal without an answer grants nothing.
func TestGrantsEndWhereRedisSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		f := fence(t, registrar(t, s, Options{}))
		s.cut()
		time.Sleep(6 * time.Second)
		g, ok := f.Held(0)
		if end := f.layout.TickOf(time.UnixMilli(s.expiry(63))); !ok || g.Until != end {
			t.Errorf("the grant is %+v, %v, and the key expires at tick %d", g, ok, end)
		}
		if err := f.Close(); err == nil {
			t.Error("the number was not given back")
		}
	})
}

// TestTheMillisecondIsOurOwn: the original's is a whole number of seconds
// after its command.
func TestTheMillisecondIsOurOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{})
		ws := must(r.RegisterMany(t.Context(), 20))
		seen := map[int64]bool{}
		for range 2 {
			for _, w := range ws {
				at := s.expiry(w.Number())
				if rest := at - s.now() - 15_000; rest < -5000 || rest >= 1000 {
					t.Errorf("number %d expires %d ms after the TTL", w.Number(), rest)
				}
				seen[at%1000] = true
			}
			time.Sleep(5 * time.Second)
			synctest.Wait() // for the renewal
		}
		if len(seen) < 20 {
			t.Errorf("40 keys have %d different milliseconds", len(seen))
		}
		noError(t, r.UnRegister())
	})
}

// noError ends the test at an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErr fails the test unless an error is of a kind.
func wantErr(t testing.TB, err, kind error, what string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v", what, err)
	}
}

func errOf[T any](_ T, err error) error { return err }
