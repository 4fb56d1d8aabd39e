package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
)

// A clock that steps is one event, and one that runs well is none.
func TestClockStepsAreEvents(t *testing.T) {
	p := &Process{cfg: Config{}.normal(), service: server.New(store.NewMemory(), server.Options{})}
	for _, c := range []struct {
		step time.Duration
		want string
	}{{0, ""}, {-31 * time.Second, "stepped back by 3"}, {time.Hour, "stepped forward by 1h"}} {
		now := time.Now()
		p.clock.wall, p.clock.mono = now.Round(0).Add(-c.step), now // as if the last look had been before the step
		before, next, stop := p.service.Events.Watch()
		p.checkClock()
		stop()
		after, _, stop := p.service.Events.Watch()
		stop()
		switch {
		case c.want == "" && len(after) != len(before):
			t.Errorf("a clock that runs well: %+v", after)
		case c.want != "" && (len(after) != len(before)+1 || !strings.Contains((<-next).Text, c.want)):
			t.Errorf("a step by %v: %+v", c.step, after)
		}
	}
}
