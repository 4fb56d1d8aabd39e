package sequence

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

// nth is a fault at the nth operation of a kind, after do.
func nth(op string, n int32, err error, do func()) func(string) error {
	var seen atomic.Int32
	return func(o string) (failed error) {
		if o == op && seen.Add(1) == n {
			do()
			failed = err
		}
		return failed
	}
}

// A take that is lost before its record was read, or before what was read
// was written, is noticed whatever was confirmed, and taken, since.
func TestTakeThatWasNotReadIsLost(t *testing.T) {
	for _, c := range []struct {
		op  string
		n   int32
		err error
	}{{"get", 1, nil}, {"get", 2, errFault}, {"swap", 1, errFault}} {
		j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
		j.takes(j.s, "20261122-001")
		q := j.open(nil)
		j.confirms(Confirmation{Floor: new(int64(50))})
		was := j.record(20261122)
		j.st.fail(nth(c.op, c.n, c.err, func() {
			j.takes(q, "20261122-050", "20261122-051")
			j.puts(was)
		}), nil)
		j.refuses(j.s, ErrRolledBack)
		j.refuses(j.s, ErrRolledBack)
		j.confirms(Confirmation{Floor: new(int64(60))})
		j.takes(j.s, "20261122-060")
	}
}

// A period's numbers are not given back over a record that was not read
// after the last take: that would hide its loss.
func TestTakeThatWasNotReadIsNotGivenBack(t *testing.T) {
	j := opened(t, "2026-11-22T23:59:59Z", Definition{Pattern: daily, Mode: Dense, MinRange: 10, MaxRange: 10})
	q := j.open(nil)
	j.takes(j.s, "20261122-001")
	j.settled(j.s)
	was := j.record(20261122)
	lost := make(chan bool, 1)
	j.st.fail(first("get", errFault, func() {
		j.set(t, "2026-11-23T00:00:00Z")
		j.takes(j.s, "20261123-001")
		must(q.Reserve(j.ctx, 20261122, 5))
		j.puts(was)
		lost <- true
	}), nil)
	for n := 0; n < 10 && len(lost) == 0; n++ {
		must(j.s.Next(j.ctx))
	}
	<-lost
	j.goes.Wait()
	j.settled(j.s)
	wantErr(t, errOf(j.s.Reserve(j.ctx, 20261122, 30)), ErrRolledBack, "")
}

// swapper cannot add.
type swapper struct{ *shaky }

func (swapper) Add(context.Context, store.Addition) (store.Record, store.Reply, error) {
	return store.Record{}, store.Reply{}, errors.ErrUnsupported
}

// So is a take by a swap, after which the store did not answer.
func TestSwapThatWasNotReadIsLost(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{Mode: Strict})
	s, q := must(Open(t.Context(), swapper{st}, name, nil)), must(Open(t.Context(), swapper{st}, name, nil))
	expect(t, s, 1)
	was := st.record(t, name)
	st.fail(nth("get", 2, errFault, func() {
		expect(t, q, 3)
		st.put(t, was)
	}), nil)
	refused(t, s, ErrRolledBack)
	noError(t, errors.Join(s.Close(), q.Close()))
}

// A period notices that the definition is older than another period saw it.
func TestDefinitionThatAnotherPeriodSaw(t *testing.T) {
	const tomorrow = 20261123
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takesIn(j.s, tomorrow, "20261123-001")
	j.takes(j.s, "20261122-001")
	q := j.open(nil)
	definition, was := j.st.record(t, name), j.record(tomorrow)
	noError(t, Update(j.ctx, j.st, name, Changes{MaxRange: 5000}))
	j.takes(j.s, "20261122-003")
	j.takesIn(q, tomorrow, "20261123-002")
	j.st.put(t, definition)
	j.puts(was)
	wantErr(t, errOf(j.s.Reserve(j.ctx, tomorrow, 1)), ErrRolledBack, "")
}

// A loss that could not be told to the store is told later, whatever was
// confirmed since, and in the next period.
func TestLossIsToldLater(t *testing.T) {
	try := func(st *shaky, next func(ctx context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		st.fail(func(op string) error {
			if op == "suspect" {
				cancel()
				return errFault
			}
			return nil
		}, nil)
		wantErr(t, next(ctx), context.Canceled, "")
		st.fail(nil, nil)
	}
	for _, tried := range []bool{false, true} {
		st, s := made(t, Definition{Mode: Strict})
		expect(t, s, 1)
		was := st.record(t, name)
		expect(t, s, 2, 3, 4)
		st.put(t, was)
		if tried {
			try(st, func(ctx context.Context) error { return errOf(s.Next(ctx)) })
		}
		confirm(t, st, Confirmation{Floor: new(int64(50))})
		st.isTold(t, func() { _, _ = s.Next(t.Context()) })
	}
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	was := j.record(20261122)
	j.takes(j.s, "20261122-002")
	j.puts(was)
	try(j.st, func(ctx context.Context) error { return errOf(j.s.Reserve(ctx, 20261122, 1)) })
	j.settled(j.s)
	j.set(t, "2026-11-23T12:00:00Z")
	j.st.isTold(t, func() { j.refuses(j.s, ErrRolledBack) })
}

// A take that was not used proves a loss, too, also in a period that was
// closed, or whose definition is gone.
func TestTakeThatWasNotReadProvesALoss(t *testing.T) {
	for kind, meanwhile := range map[error]func(j *diary){
		ErrRolledBack: func(*diary) {},
		ErrNoSequence: func(j *diary) { noError(t, Delete(j.ctx, j.st, name)) },
		ErrPeriod: func(j *diary) {
			j.set(t, "2026-11-23T02:00:00Z")
			j.confirms(Confirmation{Floor: new(int64(9))})
		},
	} {
		j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
		j.takes(j.s, "20261122-001")
		was := j.record(20261122)
		j.st.fail(first("get", errFault, func() { j.puts(was) }, func() { meanwhile(j) }), nil)
		j.st.isTold(t, func() { wantErr(t, errOf(j.s.Reserve(j.ctx, 20261122, 1)), kind, "") })
	}
}
