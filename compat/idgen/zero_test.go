package idgen

import (
	"errors"
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
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, snowfence.ErrClosed) {
				t.Errorf("NewLong panics with %v; it returns no error, so it must say what is wrong", err)
			}
		}()
		g.NewLong()
	}()

	g = DefaultIdGenerator{Options: &IdGeneratorOptions{BaseTime: baseTime + 5}, SnowWorker: seven{}}
	id, err := g.NewLongContext(t.Context())
	at := g.ExtractTime(1 << 12)
	if id != 7 || err != nil || g.NewLong() != 7 || !at.Equal(time.UnixMilli(baseTime+6)) {
		t.Errorf("a worker of the caller's: %d, %v, %v", id, err, at)
	}
}
