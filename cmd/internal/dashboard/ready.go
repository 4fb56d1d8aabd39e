package dashboard

import (
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// readyState says whether requests should come to this server.
type readyState struct {
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"` // it is not ready
}

// readyOf returns the caller's view of the readiness. The reason can name
// namespaces that not everybody may see.
func readyOf(err error, id *server.Identity) readyState {
	switch {
	case err == nil:
		return readyState{Ready: true}
	case id.SeesAll():
		return readyState{Why: err.Error()}
	}
	return readyState{Why: "the log of the server says why"}
}

// judgeReadiness looks whether the server is ready and the store answers.
// mu is held.
func (sm *sampler) judgeReadiness(now time.Time) {
	sm.unready = nil
	if sm.cfg.Ready != nil {
		sm.unready = sm.cfg.Ready()
	}
	switch since, err := sm.latency.Outage(); {
	case err != nil && !sm.away.Away:
		sm.away = storeState{Away: true, Since: millis(since), Cause: err.Error()}
	case err != nil:
		sm.away.Cause, sm.back = err.Error(), time.Time{}
	case sm.away.Away && sm.back.IsZero():
		sm.back = now
	case sm.away.Away && now.Sub(sm.back) >= steady:
		sm.away, sm.back = storeState{}, time.Time{}
	}
}

// steady is how long a store answers before its outage is over: a store
// that answers now and then would make the page flicker.
const steady = 3 * time.Second
