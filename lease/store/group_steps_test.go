package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

var errNoAnswer = errors.New("no answer")

// silenced is a store in memory with a clock, which answers nothing while
// err is set.
type silenced struct {
	*Memory
	err   error
	wait  chan struct{} // before a swap; nil for no wait
	swaps int
	open  int // pins
}

func (s *silenced) Get(ctx context.Context, keys []Key) ([]Record, Reply, error) {
	if s.err != nil {
		return nil, Reply{}, s.err
	}
	return s.Memory.Get(ctx, keys)
}

func (s *silenced) Swap(ctx context.Context, writes []Write, _ ...Key) ([]error, []Record, Reply) {
	if s.err != nil {
		return slices.Repeat([]error{s.err}, len(writes)), nil, Reply{}
	}
	if s.swaps++; s.wait != nil {
		<-s.wait
	}
	return s.Memory.Swap(ctx, writes)
}

func (s *silenced) Pin(context.Context) (func(), error) {
	if s.err != nil {
		return nil, s.err
	}
	s.open++
	return sync.OnceFunc(func() { s.open-- }), nil
}

// A wrong call of a group hurts no call that would have shared its round
// trip.
func TestGroupRefusesAKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &silenced{Memory: NewMemory(), wait: make(chan struct{})}
		g := Group(st)
		of := func(node int64) Write {
			return Write{New: Record{Key: Key{Namespace: "n", Node: node}, Nonce: "x"}}
		}
		results := make([][]error, 3)
		for i, ws := range [][]Write{{of(1)}, {of(2), of(2)}, {of(3)}} {
			go func() { results[i], _, _ = g.Swap(t.Context(), ws) }()
			synctest.Wait()
		}
		close(st.wait)
		synctest.Wait()
		if errs := errors.Join(append(results[0], results[2]...)...); errs != nil || st.swaps != 2 {
			t.Errorf("%v, after %d round trips", errs, st.swaps)
		}
		if errs := results[1]; len(errs) != 2 || errs[0] == nil || errs[1] == nil {
			t.Errorf("a key twice: %v", errs)
		}
	})
}

// A call that the store does not answer gets an error.
func TestGroupWithoutAnswers(t *testing.T) {
	st := &silenced{Memory: NewMemory()}
	g := Group(st)
	want, err := Identity(t.Context(), st, "n")
	id, err2 := Identity(t.Context(), g, "n")
	if err := errors.Join(err, err2); err != nil || id != want {
		t.Errorf("store %q, want %q, %v", id, want, err)
	}
	st.err = errNoAnswer
	if id, err := Identity(t.Context(), g, "n"); !errors.Is(err, errNoAnswer) {
		t.Errorf("store %q, %v", id, err)
	}
	if errs, _, _ := g.Swap(t.Context(),
		[]Write{{New: Record{Key: Key{Namespace: "n", Node: 1}, Nonce: "x"}}}); len(errs) != 1 ||
		!errors.Is(errs[0], errNoAnswer) {
		t.Errorf("writes: %v", errs)
	}
}

// short is a store whose answers are one too few.
type short struct{ *Memory }

func (s short) Get(ctx context.Context, keys []Key) (_ []Record, reply Reply, _ error) {
	rs, reply, err := s.Memory.Get(ctx, keys)
	return rs[1:], reply, err
}

func (s short) Swap(ctx context.Context, ws []Write, _ ...Key) ([]error, []Record, Reply) {
	errs, _, reply := s.Memory.Swap(ctx, ws)
	return errs[1:], nil, reply
}

// An answer to less than was asked answers no call.
func TestGroupOverAStoreThatAnswersLess(t *testing.T) {
	g := Group(short{NewMemory()})
	if rs, _, err := g.Get(t.Context(), []Key{{Namespace: "n", Node: 1}, {Namespace: "n", Node: 2}}); err == nil {
		t.Errorf("records: %v", rs)
	}
	errs, _, _ := g.Swap(t.Context(), []Write{
		{New: Record{Key: Key{Namespace: "n", Node: 1}, Nonce: "x"}},
		{New: Record{Key: Key{Namespace: "n", Node: 2}, Nonce: "x"}},
	})
	if len(errs) != 2 || slices.Contains(errs, nil) ||
		slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, ErrLost) }) {
		t.Errorf("writes: %v", errs)
	}
}

// A record is decoded once, and again when it is another, or to something
// else. What cannot be decoded is not kept. A store that is no group keeps
// nothing.
func TestGroupDecodesOnce(t *testing.T) {
	n := 0
	count := func(r Record) (int, error) {
		if n++; r.Data == "damaged" {
			return n, errNoAnswer
		}
		return n, nil
	}
	g := Group(NewMemory())
	for i, c := range []struct {
		data string
		want int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"damaged", 3}, {"b", 2}, {"damaged", 4}, {"a", 5}} {
		if got, err := Decoded(g, Record{Data: c.data}, count); got != c.want || (err != nil) != (c.data == "damaged") {
			t.Errorf("%d: %d, %v, want %d", i, got, err, c.want)
		}
	}
	text, err := Decoded(g, Record{Data: "a"}, func(Record) (string, error) { return "text", nil })
	if text != "text" || err != nil {
		t.Errorf("to something else: %q, %v", text, err)
	}
	for range 2 {
		if got, err := Decoded(NewMemory(), Record{}, count); got != n || n < 6 || err != nil {
			t.Errorf("no group: %d, %v", got, err)
		}
	}
}

// A store that could not be pinned is pinned for the next lease, and as
// long as that lives.
func TestGroupPinsAgainAfterAnError(t *testing.T) {
	p := &silenced{Memory: NewMemory(), err: errNoAnswer}
	g := Group(p)
	if _, err := g.Pin(t.Context()); !errors.Is(err, errNoAnswer) {
		t.Errorf("pinned: %v", err)
	}
	p.err = nil
	for range 2 {
		one, err := g.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.err = errNoAnswer // the second lease is not asked for
		two, err := g.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.err = nil
		one()
		one()
		if p.open != 1 {
			t.Errorf("with one lease left it is kept open %d times", p.open)
		}
		two()
		if p.open != 0 {
			t.Errorf("without leases it is kept open %d times", p.open)
		}
	}
}
