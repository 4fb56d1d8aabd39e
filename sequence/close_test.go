package sequence

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"

	"github.com/snowfence/snowfence/internal/tests"
)

// A closed sequence gives nothing, also to those who wait, and ends its
// call to the store.
func TestClose(t *testing.T) {
	for _, mode := range []Mode{Fast, Strict} {
		synctest.Test(t, func(t *testing.T) {
			st := newShaky()
			create(t, st, Definition{Mode: mode})
			var text bytes.Buffer
			o := &Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}
			s := open(t, &hanging{Store: st, hangs: 1 << 30}, o)
			errs := make(chan error)
			for range 3 {
				go func() {
					_, err := s.Next(t.Context())
					errs <- err
				}()
			}
			synctest.Wait()
			if st.pins != 1 {
				t.Errorf("%d pins", st.pins)
			}
			began := time.Now()
			for range 2 {
				noError(t, s.Close())
			}
			for range 3 {
				wantErr(t, <-errs, ErrClosed, "")
			}
			if d := time.Since(began); d != 0 {
				t.Errorf("it took %v", d)
			}
			synctest.Wait()
			if st.pins != 0 {
				t.Errorf("%d pins are left", st.pins)
			}
			if text.Len() > 0 {
				t.Errorf("the end is logged as trouble: %s", text.String())
			}
			refused(t, s, ErrClosed)
			_, tried := s.TryNext()
			_, reserved := s.Reserve(t.Context(), 2)
			_, filled := s.Fill(t.Context(), make([]int64, 2))
			for _, err := range []error{tried, reserved, filled} {
				wantErr(t, err, ErrClosed, "after the end")
			}
		})
	}
}

// Dense: what a stopped program held goes back.
func TestDenseGivesBack(t *testing.T) {
	for what, c := range map[string]struct {
		use  func(t *testing.T, st *shaky, s *Sequence)
		next int64 // of the program after it
	}{
		"nothing was used": {func(*testing.T, *shaky, *Sequence) {}, 1},
		"a part":           {func(t *testing.T, _ *shaky, s *Sequence) { expect(t, s, 1, 2, 3) }, 4},
		"a range":          {func(t *testing.T, _ *shaky, s *Sequence) { reserve(t, s, 10, 1) }, 11},
		"a part of the second": {func(t *testing.T, _ *shaky, s *Sequence) {
			reserve(t, s, 10, 1)
			synctest.Wait()
			expect(t, s, 11, 12)
		}, 13},
		"tried beyond the end": {func(t *testing.T, st *shaky, s *Sequence) {
			expect(t, s, 1)
			synctest.Wait()
			st.fail(always("add", errFault), nil)
			for n := int64(2); n <= 20; n++ {
				expect(t, s, n)
			}
			for range 5 {
				if n, err := s.TryNext(); err == nil {
					t.Errorf("number %d, of a store that fails", n)
				}
			}
			st.fail(nil, nil)
		}, 21},
		"another took before the range ahead": {func(t *testing.T, st *shaky, s *Sequence) {
			entered, through := gate(st)
			go s.Next(t.Context())
			<-entered
			through <- struct{}{}
			<-entered
			if _, _, err := store.Add(t.Context(), st.Store, addition(st, t, 5)); err != nil {
				t.Error(err)
			}
			through <- struct{}{}
			synctest.Wait()
			st.fail(nil, nil)
		}, 16},
		"another took after us": {func(t *testing.T, st *shaky, s *Sequence) {
			expect(t, s, 1)
			synctest.Wait()
			expect(t, open(t, st, &Options{Exact: true}), 21)
		}, 22},
		"another took, and gave back": {func(t *testing.T, st *shaky, s *Sequence) {
			expect(t, s, 1)
			synctest.Wait()
			other := open(t, st, nil)
			expect(t, other, 21, 22)
			synctest.Wait()
			noError(t, other.Close())
		}, 23},
		"the sequence was changed": {func(t *testing.T, st *shaky, s *Sequence) {
			expect(t, s, 1)
			synctest.Wait()
			noError(t, Update(t.Context(), st, name, Changes{MaxRange: 20}))
		}, 21},
		"the store went back": {func(t *testing.T, st *shaky, s *Sequence) {
			was := st.record(t, name)
			id, _ := store.Identity(t.Context(), st, "")
			st.become(id) // the one that sees a loss
			reserve(t, s, 10, 1)
			synctest.Wait()
			expect(t, s, 11)
			synctest.Wait()
			st.put(t, was)
			for n := int64(12); n <= 30; n++ {
				expect(t, s, n)
			}
			refused(t, s, ErrRolledBack)
			now := st.record(t, name)
			now.From = 500
			now.Nonce += "'"
			st.put(t, now)
		}, 501},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, s := made(t, Definition{Mode: Dense, MinRange: 10, MaxRange: 10})
			c.use(t, st, s)
			synctest.Wait()
			was := st.record(t, name)
			wantErr(t, s.Close(), nil, "%s", what)
			now := st.record(t, name)
			if now.From != was.From && (now.Revision != was.Revision+1 || now.Nonce == was.Nonce) {
				t.Errorf("%s: %+v became %+v", what, was, now)
			}
			if n, err := open(t, st, &Options{Exact: true}).Next(t.Context()); err != nil || n != c.next {
				t.Errorf("%s: the next number is %d, %v, want %d", what, n, err, c.next)
			}
		})
	}
}

// deaf is a store that goes on when a call was given up.
type deaf struct{ *shaky }

func (d deaf) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	return d.shaky.Add(context.WithoutCancel(ctx), a)
}

// What TryNext asked for before the end is not given out after it.
func TestTryNextBeforeTheEnd(t *testing.T) {
	for mode, taken := range map[Mode]int64{Dense: 0, Fast: 10} {
		synctest.Test(t, func(t *testing.T) {
			st := newShaky()
			create(t, st, Definition{Mode: mode, MinRange: 10, MaxRange: 10})
			s := open(t, deaf{st}, nil)
			entered, through := gate(st)
			wantErr(t, errOf(s.TryNext()), ErrNotReady, "")
			<-entered
			time.AfterFunc(time.Second, func() { through <- struct{}{} })
			noError(t, s.Close())
			refused(t, s, ErrClosed)
			if r := st.record(t, name); r.From != taken {
				t.Errorf("%s: the store is at %d", mode, r.From)
			}
		})
	}
}

// A store that does not answer keeps Close for 5 seconds, and the error
// names what is a gap.
func TestDenseWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{Mode: Dense, MinRange: 10, MaxRange: 10})
		expect(t, s, 1, 2)
		synctest.Wait()
		st.fail(always("swap", errFault), nil)
		err := s.Close()
		tests.Refuses(t, err, errFault, "18 numbers from 3 on")
		if again := s.Close(); again != err {
			t.Errorf("closed again: %v", again)
		}
		st.fail(nil, nil)
		expect(t, open(t, st, nil), 21)
	})
	synctest.Test(t, func(t *testing.T) {
		st := newShaky()
		create(t, st, Definition{Mode: Dense})
		s := open(t, &hanging{Store: st, hangs: 1 << 30}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go s.Next(ctx)
		synctest.Wait()
		began := time.Now()
		noError(t, s.Close())
		if d := time.Since(began); d != closeTimeout {
			t.Errorf("it took %v", d)
		}
		cancel()
	})
}
