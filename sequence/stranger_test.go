package sequence

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// A record went back, and the store does not say who it is for some takes,
// which raise the record above all that the program saw. What it saw is not
// forgotten.
func TestRollbackIsRememberedWhileTheIdentityIsUnknown(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, AfterFailover: Trust})
	expect(t, s, 1, 2)
	was := st.record(t, name)
	other := open(t, st, nil)
	expect(t, s, 3, 4)
	expect(t, other, 5, 6, 7, 8, 9, 10, 11, 12)
	st.put(t, was)
	silent := 2
	st.fail(func(op string) error {
		if op != "get" || silent == 0 {
			return nil
		}
		silent--
		return errFault
	}, nil)
	refused(t, s, ErrRolledBack)
	if silent > 0 {
		t.Errorf("the identity was asked for %d times less than it fails", silent)
	}
	refused(t, s, ErrRolledBack)
	confirm(t, st, Confirmation{Floor: new(int64(13))})
	expect(t, s, 13)
}

// Numbers of a period rise in a program also after the period ended, when
// more are asked for than are left of a range.
func TestNumbersOfAnEarlierPeriodRise(t *testing.T) {
	ctx, h := clockAt(t, "2026-12-31T23:00:00Z")
	st := newShaky()
	create(t, st, Definition{Mode: Fast, Pattern: "{year}-{n}", MinRange: 10})
	s := must(OpenDated(ctx, st, name, nil))
	defer s.Close()
	first := must(s.Next(ctx))
	p := s.present.Load()
	settle(t, p.numbers)
	h.set(t, "2027-01-01T02:00:00Z")
	must(s.Next(ctx))
	last := first.N
	for _, n := range []int64{3, 100, 1, 50, 2} {
		settle(t, p.numbers)
		got, err := s.Reserve(ctx, first.Period, n)
		if err != nil || got.First <= last {
			t.Errorf("%d numbers from %d on, %v, after %d", n, got.First, err, last)
		}
		last = got.At(n - 1).N
	}
}

// A take of a period was answered, and could not be used, because the store
// did not say whether the definition stayed. Then the record went back
// behind it, not behind what was used.
func TestRollbackBehindATakeThatWasNotUsed(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict, AfterFailover: Trust})
	j.takes(j.s, "20261122-001")
	was := j.record(20261122)
	was.Revision, was.From, was.Nonce = was.Revision+2, was.From+2, "back"
	j.takes(j.open(nil), "20261122-002", "20261122-003", "20261122-004", "20261122-005")
	j.st.fail(first("get", errFault, func() { j.puts(was) }), nil)
	j.refuses(j.s, ErrRolledBack)
}

// A dense sequence gives back to a replica that was behind, where what
// others took after it is lost. Numbers are skipped from where the count
// had been.
func TestGiveBackToAReplicaThatWasBehind(t *testing.T) {
	const skipped = 100
	st, s := made(t, Definition{Mode: Dense, MinRange: 100, MaxRange: 100, AfterFailover: skipped})
	expect(t, s, 1)
	settle(t, s)
	was := st.record(t, name)
	other := open(t, st, &Options{Exact: true})
	expect(t, other, was.From+1)
	var lost int64
	for range skipped - 1 {
		n := must(other.Next(t.Context()))
		lost = n
	}
	st.put(t, was)
	st.become("promoted")
	noError(t, s.Close())
	if n, err := open(t, st, nil).Next(t.Context()); err != nil || n <= lost {
		t.Errorf("%d, %v: numbers up to %d were given and lost, which is as many as are skipped", n, err, lost)
	}
}

// A take is carried out twice, as a proxy may do that retries: the second
// time after others took. Then nothing of theirs is given back.
func TestGiveBackAfterATakeThatWasRepeated(t *testing.T) {
	st, s := made(t, Definition{Mode: Dense, MinRange: 100, MaxRange: 100})
	expect(t, s, 1)
	settle(t, s)
	r := st.record(t, name)
	nonce, _, _ := strings.Cut(r.Nonce, ".")
	other := open(t, st, &Options{Exact: true})
	expect(t, other, r.From+1)
	again := store.Addition{Key: r.Key, N: 100, Limit: 1 << 53, Generation: r.Generation, Nonce: nonce}
	if _, _, err := store.Add(t.Context(), st.Store, again); err != nil {
		t.Fatal(err)
	}
	noError(t, s.Close())
	if n, err := open(t, st, nil).Next(t.Context()); err != nil || n <= r.From+1 {
		t.Errorf("%d, %v: %d was given to another program", n, err, r.From+1)
	}
}

// settle waits until the sequence asks the store for nothing.
func settle(t testing.TB, s *Sequence) {
	t.Helper()
	s.mu.Lock()
	taking := s.takes
	s.mu.Unlock()
	if taking != nil {
		<-taking
	}
}

// A program holds two of the largest ranges at most, as [Confirm] counts
// on, whatever was asked.
func TestHeldIsTwoRangesAtMost(t *testing.T) {
	const most = 10
	st, s := made(t, Definition{MinRange: most, MaxRange: most})
	check := func(what string) {
		t.Helper()
		settle(t, s)
		s.mu.Lock()
		defer s.mu.Unlock()
		if held := s.next.len() + s.cur.Load().left(); held > 2*most {
			t.Errorf("%s: %d numbers are held, with ranges of %d", what, held, most)
		}
	}
	for range 20 {
		for _, n := range []int64{1, 25} {
			must(s.Reserve(t.Context(), n))
			check("rows that join what is left")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	st.fail(nil, first("add", nil, func() {
		cancel()
		for end := time.Now().Add(time.Minute); waiting(s) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Error("the caller whose context ended still waits after a minute")
				return
			}
		}
	}))
	wantErr(t, errOf(s.Reserve(ctx, 500)), context.Canceled, "reserved")
	check("a caller who gave up")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range []struct{ cur, next, wantCur, want span }{ // of the ranges of before a change
		{span{1, 0, 10}, span{1, 10, 25}, span{1, 5, 10}, span{1, 10, 25}},
		{span{1, 0, 10}, span{1, 20, 50}, span{1, 10, 10}, span{1, 30, 50}},
		{span{1, 7, 10}, span{1, 10, 25}, span{1, 7, 10}, span{1, 10, 25}},
	} {
		s.cur.Store(c.cur.piece(1))
		s.next = c.next
		if s.trimRest(); s.cur.Load().span != c.wantCur || s.next != c.want {
			t.Errorf("%+v: %+v and %+v", c, s.cur.Load().span, s.next)
		}
	}
	p := span{1, 0, 10}.piece(1)
	for _, left := range []int64{6, 2, 0} { // of the last four there are two
		if p.takeSome(4); p.left() != left {
			t.Errorf("%d are left, want %d", p.left(), left)
		}
	}
}

func waiting(s *Sequence) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Ranges were made smaller while programs hold larger ones: a confirmation
// counts the larger ones.
func TestConfirmationCountsRangesOfBefore(t *testing.T) {
	st, s := made(t, Definition{MinRange: 1000, MaxRange: 5000})
	expect(t, s, 1)
	settle(t, s)
	for _, most := range []int64{2000, 10} {
		noError(t, Update(t.Context(), st, name, Changes{MinRange: 10, MaxRange: most}))
	}
	st.put(t, store.Record{Key: keyOf(name), Nonce: "back", Revision: 1, Generation: 1, Data: st.record(t, name).Data})
	confirm(t, st, Confirmation{Used: new(int64(1)), Programs: 1})
	if i, err := Show(t.Context(), st, name); err != nil || i.Next != 10_002 {
		t.Errorf("next is %d, %v, and a program may hold twice 5,000 numbers beside 1", i.Next, err)
	}
}
