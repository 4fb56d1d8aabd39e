package serve

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A clock that steps is one line of the log, and one that runs well is
// none.
func TestClockStepsAreLogged(t *testing.T) {
	for step, want := range map[time.Duration]int{0: 0, -31 * time.Second: 1, time.Hour: 1} {
		var said strings.Builder
		p := &Process{cfg: Config{
			Options: server.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))},
		}.withDefaults()}
		now := time.Now()
		p.clock.wall, p.clock.mono = now.Round(0).Add(-step), now // as if the last look had been before the step
		p.checkClock()
		p.checkClock()
		if n := strings.Count(said.String(), "clock step"); n != want {
			t.Errorf("a step by %v: %s", step, said.String())
		}
	}
}
