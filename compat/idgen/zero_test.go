package idgen

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

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
