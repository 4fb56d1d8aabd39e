package lease

import (
	"context"
	"log/slog"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
)

// Event is something that happened to a lease, for [Options.Events].
type Event struct {
	Kind      string // one of the Event constants; also the message in the log
	Namespace string
	Cause     error // why; nil if Kind says all
}

// The kinds of events.
const (
	// EventLost: the grant is lost, and the generator is sealed.
	EventLost = "lease lost"
	// EventLate: the grant was not renewed, and again a second later, two,
	// four, …
	EventLate = "lease not renewed"
	// EventRolledBack: the store lost writes that it had acknowledged.
	EventRolledBack = claim.RolledBack
	// EventReplaced: the namespace was made in another store.
	EventReplaced = claim.Replaced
	// EventFloorRaised: grants now begin above all that were granted
	// before.
	EventFloorRaised = claim.FloorRaised
)

// reporter keeps events until they may be announced. It belongs to the
// user of a claim.
type reporter struct {
	namespace string
	world     world.World
	logger    *slog.Logger
	announced func(Event) // nil for none
	events    []Event
}

// report logs an event, and keeps it for announce.
func (r *reporter) report(kind string, cause error, attrs ...any) {
	level := slog.LevelWarn
	if kind == EventRolledBack || kind == EventReplaced {
		level = slog.LevelError
	}
	attrs = append([]any{"namespace", r.namespace}, attrs...)
	if cause != nil {
		attrs = append(attrs, "cause", cause)
	}
	r.logger.Log(context.Background(), level, kind, attrs...)
	if r.announced != nil {
		r.events = append(r.events, Event{kind, r.namespace, cause})
	}
}

// announce passes reported events to Options.Events, at the end of an
// operation, so after the seal. Its goroutine holds no lock, and a slow
// callback delays no renewal.
func (r *reporter) announce() {
	events := r.events
	if r.events = nil; len(events) == 0 {
		return
	}
	r.world.Go(func() {
		for _, e := range events {
			r.announced(e)
		}
	})
}
