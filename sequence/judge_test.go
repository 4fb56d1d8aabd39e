package sequence

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// confirm confirms a floor and fails the test if that is refused.
func confirm(t testing.TB, st store.Store, c Confirmation) {
	t.Helper()
	noError(t, Confirm(t.Context(), st, name, c))
}

// Stop: a store with another identity gives no number before it is
// confirmed, and what the take of the discovery took is not used.
func TestAnotherStoreStops(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1, 2)
	st.become("promoted")
	if err := refused(t, s, ErrRolledBack); !strings.Contains(err.Error(), "up to 2: find") {
		t.Errorf("the error does not say what this program took: %v", err)
	}
	adds := st.count("add")
	refused(t, s, ErrRolledBack)
	if n := st.count("add"); n != 0 || adds != 3 {
		t.Errorf("%d and %d takes: a stopped sequence reads only", adds, n)
	}
	_, err := Open(t.Context(), st, name, nil)
	if !errors.Is(err, ErrRolledBack) || strings.Contains(err.Error(), "knows of") {
		t.Errorf("opened: %v", err)
	}
	noError(t, Update(t.Context(), st, name, Changes{MaxRange: 5000}))
	refused(t, s, ErrRolledBack) // a change confirms nothing
	confirm(t, st, Confirmation{Floor: new(int64(50))})
	expect(t, s, 50)
	expect(t, open(t, st, nil), 51)
}

// A store over several databases, one of which may not be asked any more,
// is another one.
func TestClosedDatabaseStops(t *testing.T) {
	st := newShaky()
	st.become("a:b")
	create(t, st, Definition{Mode: Strict})
	s := open(t, st, nil)
	expect(t, s, 1)
	st.become("a:-")
	refused(t, s, ErrRolledBack)
	if i := must(Show(t.Context(), st, name)); !i.RolledBack {
		t.Errorf("%+v", i)
	}
}

// A take that was acknowledged and is gone gives the store another
// identity, for all that is in it, and only once: until a confirmation the
// program names the identity of before.
func TestLostTakeIsToldToAll(t *testing.T) {
	for what, lost := range map[string]func(st *shaky, s *Sequence){
		"a take, which the next one makes up for": func(_ *shaky, s *Sequence) { expect(t, s, 2) },
		"two takes": func(_ *shaky, s *Sequence) { expect(t, s, 2, 3) },
		"a change and a take": func(st *shaky, s *Sequence) {
			noError(t, Update(t.Context(), st, name, Changes{MaxRange: 5000}))
			expect(t, s, 2)
		},
	} {
		st, s := made(t, Definition{Mode: Strict})
		expect(t, s, 1)
		was := st.record(t, name)
		lost(st, s)
		before, _ := store.Identity(t.Context(), st, "")
		st.put(t, was)
		st.fail(first("suspect", errFault), nil)
		refused(t, s, ErrRolledBack)
		after, _ := store.Identity(t.Context(), st, "")
		refused(t, s, ErrRolledBack)
		confirm(t, st, Confirmation{Floor: new(int64(50))})
		expect(t, s, 50)
		if id, _ := store.Identity(t.Context(), st, ""); after == before || id != after {
			t.Errorf("%s: the store was %q, then %q, and is %q", what, before, after, id)
		}
	}
}

// A lost take is told to all where the record names another identity than
// the store had: of before a trusted failover, or without a source.
func TestLostTakeAfterATrustedFailover(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, AfterFailover: Trust})
	id, _ := store.Identity(t.Context(), st, "")
	noError(t, st.Suspect(t.Context(), id))
	was := st.record(t, name)
	expect(t, s, 1)
	if now, _ := store.Identity(t.Context(), st, ""); now == id {
		t.Errorf("the store is still %q", id)
	}
	st.put(t, was)
	st.isTold(t, func() { refused(t, s, ErrRolledBack) })
}

// A record that was only read proves no loss: the store may have shown it
// before it was durable.
func TestReadRecordProvesNoLoss(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1)
	was := st.record(t, name)
	expect(t, s, 2, 3)
	other := open(t, st, nil)
	before, _ := store.Identity(t.Context(), st, "")
	st.put(t, was)
	refused(t, other, ErrRolledBack)
	refused(t, other, ErrRolledBack)
	if id, _ := store.Identity(t.Context(), st, ""); id != before {
		t.Errorf("the store was %q, and is %q", before, id)
	}
}

// A store that has neither an identity nor a clock is believed.
func TestStoreWithoutIdentity(t *testing.T) {
	st := newShaky()
	st.become("nobody")
	create(t, st, Definition{Mode: Strict})
	s := open(t, st, nil)
	confirm(t, st, Confirmation{Floor: new(int64(5))})
	expect(t, s, 5)
}

// Nor does a read that failed, or found the sequence to be elsewhere.
func TestFailedReadProvesNoLoss(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	confirm(t, st, Confirmation{Floor: new(int64(5))})
	expect(t, s, 5)
	here, there := store.Place{Store: st, Name: "here"}, store.Place{Store: newShaky(), Name: "there"}
	noError(t, Move(t.Context(), name, here, there))
	refused(t, s, store.ErrMoved)
	noError(t, Move(t.Context(), name, there, here))
	st.fail(first("get", errFault), nil)
	expect(t, s, 6)
}

// later is a store whose additions tell the revision of a later write.
type later struct{ store.Store }

func (l later) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	r, reply, err := store.Add(ctx, l.Store, a)
	r.Nonce, r.Revision = a.Nonce, r.Revision+1
	return r, reply, err
}

// Nor does a write behind a take, which a crash undid. The take is proof.
func TestLaterWriteProvesNoLoss(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	now := st.Store
	take := func(from store.Store, n int64) {
		st.Store = from
		expect(t, s, n)
		st.Store = now
	}
	take(later{now}, 1)
	take(now, 2)
	was := st.record(t, name)
	take(later{now}, 3)
	st.put(t, was)
	st.isTold(t, func() { refused(t, s, ErrRolledBack) })
}

// Trust: a store with another identity has lost nothing.
func TestAnotherStoreIsTrusted(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, AfterFailover: Trust})
	expect(t, s, 1, 2)
	st.become("restarted")
	expect(t, s, 3)
	expect(t, open(t, st, nil), 4)
}

// N: some numbers are skipped, once for all programs.
func TestNumbersAreSkippedOnce(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{Mode: Strict, AfterFailover: 100})
	var text bytes.Buffer
	s := open(t, st, &Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	other := open(t, st, nil)
	expect(t, s, 1, 2)
	expect(t, other, 3)
	st.become("promoted")
	expect(t, s, 105) // 4 was taken when it was found out
	if log := text.String(); strings.Count(log, "skipped=100") != 1 {
		t.Errorf("the log: %s", log)
	}
	expect(t, other, 106)
	expect(t, open(t, st, nil), 107)
	st.become("promoted again")
	expect(t, open(t, st, nil), 208)
	expect(t, s, 209)
}

// A confirmation by a clock that is ahead is lost. Numbers are skipped
// once, and the error of a stopped sequence says what is waited for.
func TestConfirmationOfAFastClockIsLost(t *testing.T) {
	for _, after := range []int64{100, Stop} {
		st, s := made(t, Definition{Mode: Strict, AfterFailover: after})
		expect(t, s, 1)
		was := st.record(t, name)
		ahead, _ := clockAt(t, time.Now().Add(5*time.Minute).Format(time.RFC3339))
		noError(t, Confirm(ahead, st, name, Confirmation{Floor: new(int64(5))}))
		expect(t, s, 5)
		st.put(t, was)
		if after > 0 {
			expect(t, s, 106)
			known := must(read(t.Context(), st, name))
			st.become("promoted")
			expect(t, open(t, st, nil), 207)
			if now := must(read(t.Context(), st, name)); now.Confirmed <= known.Confirmed {
				t.Errorf("confirmed at %d, and then at %d", known.Confirmed, now.Confirmed)
			}
			continue
		}
		refused(t, s, ErrRolledBack)
		confirm(t, st, Confirmation{Floor: new(int64(9))})
		if err := refused(t, s, ErrRolledBack); !strings.Contains(err.Error(), "; confirm it after 2") {
			t.Error(err)
		}
		expect(t, open(t, st, nil), 9)
	}
}

// A record that is older than one that the program saw stops it, whatever
// the store says that it is, and is never trusted.
func TestRecordThatWentBackStops(t *testing.T) {
	for what, back := range map[string]func(was, now store.Record) store.Record{
		"backup": func(was, _ store.Record) store.Record { return was },
		"revision of a take, with what was given out": func(_, now store.Record) store.Record {
			now.Nonce, now.Revision = "x", now.Revision-1
			return now
		},
		"what was given out, with a later revision": func(_, now store.Record) store.Record {
			now.Nonce, now.From, now.Revision = "x", now.From-1, now.Revision+10
			return now
		},
		"generation": func(_, now store.Record) store.Record {
			now.Nonce, now.Generation, now.Revision = "x", now.Generation-1, now.Revision+10
			return now
		},
		"revision, with a later generation": func(_, now store.Record) store.Record {
			now.Nonce, now.Generation, now.Revision = "x", now.Generation+1, now.Revision-1
			return now
		},
		"what was given out, with a later generation": func(_, now store.Record) store.Record {
			now.Nonce, now.Generation, now.Revision, now.From = "x", now.Generation+1, now.Revision+10, now.From-1
			return now
		},
	} {
		for _, after := range []int64{Stop, Trust} {
			st, s := made(t, Definition{Mode: Strict, AfterFailover: after})
			other := open(t, st, nil)
			expect(t, other, 1, 2, 3)
			expect(t, s, 4, 5)
			was := st.record(t, name)
			expect(t, s, 6, 7)
			st.put(t, back(was, st.record(t, name)))
			refused(t, s, ErrRolledBack)
			refused(t, s, ErrRolledBack)
			noError(t, Update(t.Context(), st, name, Changes{MaxRange: 5000}))
			refused(t, s, ErrRolledBack)
			low := st.record(t, name).From < 7
			confirm(t, st, Confirmation{Floor: new(int64(7))})
			if low { // below what this program took
				st.count("add")
				if err := refused(t, s, ErrRolledBack); !strings.Contains(err.Error(), "up to 7") {
					t.Errorf("%s: %v", what, err)
				}
				if n := st.count("add"); n != 0 {
					t.Errorf("%s: %d takes of a record that is too low", what, n)
				}
			}
			confirm(t, st, Confirmation{Floor: new(int64(8))})
			if n, err := s.Next(t.Context()); err != nil || n < 8 {
				t.Errorf("%s: %d, %v after the confirmation", what, n, err)
			}
		}
	}
}

// A record with an earlier confirmation was put back, even if all else in
// it has grown.
func TestEarlierConfirmationWentBack(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict})
	expect(t, s, 1)
	was := st.record(t, name)
	confirm(t, st, Confirmation{Floor: new(int64(5))})
	expect(t, s, 5)
	now := st.record(t, name)
	now.Nonce, now.Data, now.Revision, now.Generation = "x", was.Data, now.Revision+9, now.Generation+1
	st.put(t, now)
	refused(t, s, ErrRolledBack)
	confirm(t, st, Confirmation{Floor: new(int64(9))})
	if n, err := s.Next(t.Context()); err == nil && n < 9 || err != nil && !errors.Is(err, ErrRolledBack) {
		t.Errorf("%d, %v", n, err)
	}
}

// A record that is gone, and one that was made again, give no number. A
// take in it is lost, and told to all.
func TestRecordThatIsGone(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, AfterFailover: Trust})
	expect(t, s, 1, 2)
	was := st.record(t, name)
	st.put(t, store.Record{Key: keyOf(name)})
	st.isTold(t, func() { refused(t, s, ErrNoSequence) })
	st.put(t, was)
	refused(t, s, ErrRolledBack)
	st.Store = store.NewMemory()
	st.become("memory")
	refused(t, s, ErrNoSequence)
	create(t, st, Definition{Mode: Strict})
	refused(t, s, ErrRolledBack)
	confirm(t, st, Confirmation{Floor: new(int64(3))})
	expect(t, s, 3)
}

// A confirmation never lowers what was given out, and counts what programs
// may hold beside the last number that was used.
func TestConfirm(t *testing.T) {
	d := Definition{Start: new(int64(10)), Step: 5, MaxRange: 1000}
	for _, c := range []struct {
		c    Confirmation
		next int64
	}{
		{Confirmation{Floor: new(int64(-7))}, 10 + 5*3},
		{Confirmation{Floor: new(int64(10))}, 10 + 5*3},
		{Confirmation{Floor: new(int64(25))}, 25},
		{Confirmation{Floor: new(int64(26))}, 30},
		{Confirmation{Floor: new(int64(30))}, 30},
		{Confirmation{Used: new(int64(25)), Programs: 1}, 30 + 5*2000},
		{Confirmation{Used: new(int64(26)), Programs: 1}, 35 + 5*2000},
		{Confirmation{Used: new(int64(26)), Programs: 7}, 35 + 5*14000},
		{Confirmation{Used: new(int64(5))}, 15 + 5*200_000},
	} {
		st := newShaky()
		create(t, st, d)
		r := st.record(t, name)
		r.From, r.Nonce = 3, "three"
		st.put(t, r)
		confirm(t, st, c.c)
		if i, err := Show(t.Context(), st, name); err != nil || i.Next != c.next {
			t.Errorf("%+v: next is %d, %v, want %d", c.c, i.Next, err, c.next)
		}
	}
	st := newShaky()
	create(t, st, d)
	for what, c := range map[string]Confirmation{
		"nothing": {}, "both": {Floor: new(int64(1)), Used: new(int64(1))}, "programs": {Used: new(int64(1)), Programs: -1},
	} {
		wantErr(t, Confirm(t.Context(), st, name, c), lease.ErrInvalid, "%s", what)
	}
	for last, want := range map[int64]error{30 + 5*2000: lease.ErrRefused, 35 + 5*2000: nil} {
		st, d.Max = newShaky(), &last
		create(t, st, d)
		err := Confirm(t.Context(), st, name, Confirmation{Used: new(int64(26)), Programs: 1})
		wantErr(t, err, want, "programs can hold the numbers up to %d", 30+5*2000)
	}
	st = newShaky()
	create(t, st, Definition{Max: new(int64(math.MaxInt64)), MaxRange: 1000})
	confirm(t, st, Confirmation{Used: new(int64(1)), Programs: math.MaxInt64 / 2000})
	if i, err := Show(t.Context(), st, name); err != nil || i.Left != math.MaxInt64%2000-1 {
		t.Errorf("as many programs as can be counted: %+v, %v", i, err)
	}
	st.fail(always("get", errFault), nil)
	wantErr(t, Confirm(t.Context(), st, name, Confirmation{Floor: new(int64(1))}), errFault,
		"a store that does not answer")
}

// A confirmation counts up, also in the same millisecond and with changes
// between, and after one that a rollback lost.
func TestConfirmationsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newShaky()
		create(t, st, Definition{})
		first := st.record(t, name)
		grows := func(was state) state {
			t.Helper()
			confirm(t, st, Confirmation{Floor: new(int64(1))})
			now, err := read(t.Context(), st, name)
			if err != nil || now.Confirmed <= was.Confirmed || now.record.Generation <= was.record.Generation {
				t.Errorf("%d, generation %d; then %d, generation %d, %v", was.Confirmed, was.record.Generation,
					now.Confirmed, now.record.Generation, err)
			}
			return now
		}
		var last state
		for range 3 {
			for range 5 {
				noError(t, Update(t.Context(), st, name, Changes{MaxRange: 2000}))
			}
			was := must(read(t.Context(), st, name))
			last = grows(was)
		}
		time.Sleep(time.Second)
		st.put(t, first)
		grows(last)
	})
}

// What a rollback once required stays required.
func TestHighestRises(t *testing.T) {
	var h highest
	for _, to := range []int64{5, 3} {
		if h.raise(to); h.Load() != 5 {
			t.Errorf("raised to %d: %d", to, h.Load())
		}
	}
}
