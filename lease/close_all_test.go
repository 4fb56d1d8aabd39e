package lease

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Calls begin until one returns an error. It is returned when all have
// ended.
func TestEachUntilAnError(t *testing.T) {
	const n = closers + 10
	for name, c := range map[string]struct {
		fails error
		want  int
	}{"without an error": {nil, n}, "with an error": {errSilent, closers}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			begun, ended := 0, 0
			wait := make(chan struct{})
			time.AfterFunc(time.Second, func() { close(wait) })
			err := each(n, closers, func(i int) error {
				mu.Lock()
				begun++
				mu.Unlock()
				if i == 7 { // while all others wait
					time.Sleep(time.Millisecond)
					return c.fails
				}
				<-wait
				mu.Lock()
				ended++
				mu.Unlock()
				return nil
			})
			if !errors.Is(err, c.fails) || begun != c.want || ended != begun-1 {
				t.Errorf("%s: %d calls, %d have ended, %v", name, begun, ended, err)
			}
		})
	}
}
