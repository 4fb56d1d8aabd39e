package idgen

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// fresh begins a test with NextId as it is when a program starts.
func fresh(t *testing.T) {
	t.Helper()
	Close()
	t.Cleanup(func() { Close() })
}

func TestNextIdBeforeSetIdGenerator(t *testing.T) {
	fresh(t)
	_, err := NextIdContext(t.Context())
	for _, err := range []error{err, catch(func() { NextId() }), catch(func() { ExtractTime(1) })} {
		says(t, err, "call SetIdGenerator first", "")
	}
	wantErr(t, Close(), nil, "Close of nothing")
}

func TestExtractTimeGoesByTheLatestOptions(t *testing.T) {
	fresh(t)
	o := ownOptions(1)
	SetIdGenerator(o)
	id := NextId()
	if at := ExtractTime(id); at != time.UnixMilli(id>>12+o.BaseTime) {
		t.Errorf("time %v", at)
	}
	o.SeqBitLength = 10
	SetIdGenerator(o)
	if at := ExtractTime(id); at != time.UnixMilli(id>>16+o.BaseTime) {
		t.Errorf("time %v", at)
	}
}

// The lead belongs to the options, though the numbers of both are the same.
func TestMethodChangesWithSetIdGenerator(t *testing.T) {
	clock := newClock()
	var d door
	o := ownOptions(1)
	noError(t, d.set(o, clock.Now))
	ids := func() (n int) {
		for ; n < 200; n++ {
			if _, err := d.next(done()); err != nil {
				break
			}
		}
		return n
	}
	if n := ids(); n != 200 {
		t.Fatalf("%d IDs with drift", n)
	}
	clock.Advance(time.Second)
	o.Method = 2
	noError(t, d.set(o, clock.Now))
	if n := ids(); n != 59 {
		t.Errorf("%d IDs in a millisecond without drift, want 59", n)
	}
}

// A generator in use would be shared, and keep its lead.
func TestMethodChangesOnTheClockOfTheMachine(t *testing.T) {
	var d door
	o := ownOptions(2)
	noError(t, d.set(o, nil))
	o.Method = 2
	noError(t, d.set(o, nil))
	for range 100_000 { // with a lead of 2000 ms there are 118,000
		if _, err := d.next(done()); err != nil {
			return
		}
	}
	t.Error("the IDs drift on")
}

// Callers meet a generator that is sealed before the next one is set. They
// must wait for that, not panic.
func TestNextIdWaitsForTheOptionsThatAreBeingSet(t *testing.T) {
	clock := newClock()
	var d door
	o := ownOptions(1)
	noError(t, d.set(o, clock.Now))
	old := d.cur.Load()
	asked, answer := make(chan bool), make(chan bool)
	var calls atomic.Int64
	slow := func() (time.Time, time.Duration) {
		if calls.Add(1) == 2 { // the first is for the check
			close(asked)
			<-answer
		}
		return clock.Now()
	}
	o.MinSeqNumber = 10
	var all sync.WaitGroup
	all.Go(func() {
		wantErr(t, d.set(o, slow), nil, "the new options")
	})
	<-asked
	wantErr(t, errOf(old.handle.Next(t.Context())), snowfence.ErrClosed, "the old generator goes on")
	var got atomic.Int64
	all.Go(func() {
		id, err := d.next(t.Context())
		wantErr(t, err, nil, "an ID meanwhile")
		got.Store(id)
	})
	for range 100 { // gives the call its chance to fail
		time.Sleep(100 * time.Microsecond)
		if got.Load() != 0 {
			t.Error("an ID of a generator that is not open yet")
			break
		}
	}
	close(answer)
	all.Wait()
	if id := got.Load(); id&63 < 10 {
		t.Errorf("ID %d is not of the new options", id)
	}
}

type seven struct{}

func (seven) NextId() int64 { return 7 }

// The zero DefaultIdGenerator ended the program with a nil pointer.
func TestZeroGenerator(t *testing.T) {
	var g DefaultIdGenerator
	wantErr(t, errOf(g.NewLongContext(t.Context())), snowfence.ErrClosed, "NewLongContext")
	wantErr(t, g.Close(), nil, "Close")
	if at := g.ExtractTime(1000 << 12); !at.Equal(time.UnixMilli(baseTime + 1000)) {
		t.Errorf("ExtractTime: %v", at)
	}
	wantErr(t, catch(func() { g.NewLong() }), snowfence.ErrClosed, "NewLong, whose panic says what is wrong")

	g = DefaultIdGenerator{Options: &IdGeneratorOptions{BaseTime: baseTime + 5}, SnowWorker: seven{}}
	id, err := g.NewLongContext(t.Context())
	at := g.ExtractTime(1 << 12)
	if id != 7 || err != nil || g.NewLong() != 7 || !at.Equal(time.UnixMilli(baseTime+6)) {
		t.Errorf("a worker of the caller's: %d, %v, %v", id, err, at)
	}
}
