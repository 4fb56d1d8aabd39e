package server

import (
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// Event is something that people who look after the service want to know.
type Event struct {
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"` // leased, ended, lost, clock, namespace, …
	Namespace string    `json:"namespace,omitempty"`
	Actor     string    `json:"actor,omitempty"` // who did it; "" is this server
	Text      string    `json:"text"`
}

// keptEvents is how many events are remembered.
const keptEvents = 200

// Events are the latest events, and those who watch for new ones. Safe for concurrent use.
type Events struct {
	mu      sync.Mutex
	list    []Event
	watched map[chan Event]struct{}
}

// onLeaseEvent makes an event of what happened to a lease.
func (s *Service) onLeaseEvent(e lease.Event) {
	ev := Event{Kind: "store", Namespace: e.Namespace, Text: string(e.Kind)}
	switch e.Kind {
	case lease.EventLost:
		ev.Kind = "lost"
	case lease.EventLate:
		ev.Kind = "late"
	}
	if e.Cause != nil {
		ev.Text += ": " + e.Cause.Error() // people see events on the dashboard
	}
	s.Events.Add(ev)
}

func newEvents() *Events { return &Events{watched: map[chan Event]struct{}{}} }

// Add remembers an event, of the present unless it says when it was. A watcher that does not keep
// up misses it.
func (e *Events) Add(ev Event) {
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, ev)
	if len(e.list) > keptEvents {
		e.list = slices.Delete(e.list, 0, len(e.list)-keptEvents)
	}
	for c := range e.watched {
		select {
		case c <- ev:
		default:
		}
	}
}

// Watch returns the events so far and a channel of those to come. stop ends it; the
// channel is not closed.
func (e *Events) Watch() (before []Event, next <-chan Event, stop func()) {
	c := make(chan Event, 64)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watched[c] = struct{}{}
	return slices.Clone(e.list), c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watched, c)
	}
}
