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

// readyOf returns what a caller may know. The reason can name namespaces that not
// everybody may see.
func readyOf(err error, id *server.Identity) readyState {
	switch {
	case err == nil:
		return readyState{Ready: true}
	case id.SeesAll():
		return readyState{Why: err.Error()}
	}
	return readyState{Why: "the log of the server says why"}
}

// judge looks whether the server is ready and the store answers, and makes events of a change. mu
// is held.
func (sm *sampler) judge(now time.Time) {
	sm.unready = nil
	if sm.cfg.Ready != nil {
		sm.unready = sm.cfg.Ready()
	}
	if sm.latency == nil {
		return
	}
	switch since, err := sm.latency.Outage(); {
	case err != nil && !sm.away.Away:
		sm.away = storeState{Away: true, Since: millis(since), Cause: err.Error()}
		sm.service.Events.Add(server.Event{At: since, Kind: "store", Text: "it does not answer: " + sm.away.Cause})
	case err != nil:
		sm.away.Cause, sm.back = err.Error(), time.Time{}
	case sm.away.Away && sm.back.IsZero():
		sm.back = now
	case sm.away.Away && now.Sub(sm.back) >= steady:
		took := sm.back.Sub(time.UnixMilli(sm.away.Since)).Round(time.Second)
		text := "it answers again, after " + max(took, time.Second).String()
		sm.service.Events.Add(server.Event{At: sm.back, Kind: "store", Text: text})
		sm.away, sm.back = storeState{}, time.Time{}
	}
}

// steady is how long a store answers before its outage is over: one that answers now and then
// would fill the list of events.
const steady = 3 * time.Second
