package idgen

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// bases makes a BaseTime for each test, so that none meets the IDs of
// another.
var bases atomic.Int64

func ownOptions(worker uint16) *IdGeneratorOptions {
	o := NewIdGeneratorOptions(worker)
	o.BaseTime -= bases.Add(1)
	return o
}

func parts(l snowfence.Layout, id int64) snowfence.Parts {
	s := must(snowfence.NewScheme(l))
	return must(s.Decode(snowfence.ID(id)))
}

// newClock returns a clock that a test moves.
var newClock = tests.NewClock

// done is a context for calls that may not wait.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestFieldsOfIDs(t *testing.T) {
	for _, change := range []func(*IdGeneratorOptions){
		func(*IdGeneratorOptions) {},
		func(o *IdGeneratorOptions) { o.WorkerIdBitLength, o.SeqBitLength, o.WorkerId = 10, 12, 1023 },
		func(o *IdGeneratorOptions) { o.WorkerIdBitLength, o.SeqBitLength, o.WorkerId = 19, 3, 65535 },
		func(o *IdGeneratorOptions) { o.MinSeqNumber, o.MaxSeqNumber = 7, 9 },
		func(o *IdGeneratorOptions) { o.Method = 2 },
		func(o *IdGeneratorOptions) { o.DataCenterId, o.DataCenterIdBitLength = 5, 3 },
		func(o *IdGeneratorOptions) {
			o.TimestampType, o.SeqBitLength, o.DataCenterId, o.DataCenterIdBitLength = 1, 20, 1, 1
		},
	} {
		o := ownOptions(62)
		change(o)
		g := must(TryNewDefaultIdGenerator(o))
		before := time.Now().Add(-o.tick())
		id := g.NewLong()
		mask := func(bits byte) int64 { return 1<<bits - 1 }
		seq := id & mask(o.SeqBitLength)
		worker := id >> o.SeqBitLength & mask(o.WorkerIdBitLength)
		center := id >> (o.SeqBitLength + o.WorkerIdBitLength) & mask(o.DataCenterIdBitLength)
		if seq < int64(o.MinSeqNumber) || seq > int64(o.last()) ||
			worker != int64(o.WorkerId) || center != int64(o.DataCenterId) {
			t.Errorf("%+v: sequence %d, worker %d, data center %d", *o, seq, worker, center)
		}
		if at := g.ExtractTime(id); at.Before(before) || at.After(time.Now().Add(3*time.Second)) {
			t.Errorf("%+v: time %v", *o, at)
		}
	}
}

func TestTimeOfSecondsKeepsTheMillisecondsOfTheBase(t *testing.T) {
	o := ownOptions(1)
	o.TimestampType, o.BaseTime = 1, 1582136402123
	if got, want := o.timeOf(100<<o.shift()|77), time.UnixMilli(1582136502123); !got.Equal(want) {
		t.Errorf("time %v, want %v", got, want)
	}
}

func TestOtherNumbersOfAWorkerReplaceItsGenerator(t *testing.T) {
	clock := newClock()
	o := ownOptions(1)
	old := must(open(o, clock.Now))
	last := int64(0)
	for range 59 * 100 { // a hundred ticks ahead of the clock
		last = old.NewLong()
	}
	o.MinSeqNumber = 20
	next := must(open(o, clock.Now))
	if id := next.NewLong(); id>>12 <= last>>12 {
		t.Errorf("ID %d of the new generator is not above the tick of %d", id, last)
	}
	err := catch(func() { old.NewLong() })
	tests.Refuses(t, err, snowfence.ErrClosed, "replaced")
	wantErr(t, errOf(old.NewLongContext(t.Context())), snowfence.ErrClosed, "the old generator")
}

func TestSlicesOfAWorkerAreBesideEachOther(t *testing.T) {
	o := ownOptions(1)
	o.MaxSeqNumber = 31
	low := NewDefaultIdGenerator(o)
	o.MinSeqNumber, o.MaxSeqNumber = 32, 63
	high := NewDefaultIdGenerator(o)
	for range 1000 {
		if a, b := low.NewLong()&63, high.NewLong()&63; a < 5 || a > 31 || b < 32 {
			t.Fatalf("numbers %d and %d", a, b)
		}
	}
}

func TestDriftEndsAtTheTop(t *testing.T) {
	for _, tt := range []struct {
		method uint16
		top    uint32
		want   int
	}{{1, 10, 59 * 11}, {2, 10, 59}} {
		clock := newClock()
		o := ownOptions(1)
		o.Method, o.TopOverCostCount = tt.method, tt.top
		g := must(open(o, clock.Now))
		n := 0
		for ; ; n++ {
			if _, err := g.NewLongContext(done()); errors.Is(err, snowfence.ErrExhausted) {
				break
			} else if err != nil || n > tt.want {
				t.Fatalf("method %d: error %v after %d IDs", tt.method, err, n)
			}
		}
		if n != tt.want {
			t.Errorf("method %d: %d IDs in a millisecond, want %d", tt.method, n, tt.want)
		}
		clock.Advance(time.Millisecond)
		wantErr(t, errOf(g.NewLongContext(done())), nil, "method %d: a millisecond later", tt.method)
	}
}

func TestCopiesAreTheSameGenerator(t *testing.T) {
	g := NewDefaultIdGenerator(ownOptions(1))
	same := *g
	if a, b := g.NewLong(), same.NewLong(); b <= a {
		t.Errorf("IDs %d and %d", a, b)
	}
	g.Close()
	wantErr(t, catch(func() { same.NewLong() }), snowfence.ErrClosed, "a copy of a closed generator")
	wantErr(t, g.Close(), nil, "the second Close")
}

// Tests of users put a worker of their own into the field, as with the
// original.
type fixed int64

func (f fixed) NextId() int64 { return int64(f) }

func TestNewLongAsksTheWorkerInTheField(t *testing.T) {
	g := NewDefaultIdGenerator(ownOptions(1))
	g.SnowWorker = fixed(7)
	if id := g.NewLong(); id != 7 {
		t.Errorf("ID %d, want 7", id)
	}
}

func TestOptionsAreReadOnce(t *testing.T) {
	o := ownOptions(1)
	g := NewDefaultIdGenerator(o)
	at := g.ExtractTime(g.NewLong())
	o.BaseTime, o.SeqBitLength = baseTime-1e12, 20
	g.Options.BaseTime = 0
	if later := g.ExtractTime(g.NewLong()); later.Sub(at) > time.Minute || later.Before(at) {
		t.Errorf("times %v and %v", at, later)
	}
}
