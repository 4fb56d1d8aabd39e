package lease

import (
	"context"
	"log/slog"
)

// Event is something that happened to a lease, for [Options.Events].
type Event struct {
	Kind      string // the line in the log
	Namespace string
	Cause     error // nil if the kind says it all
}

// The kinds of events.
const (
	// EventLost: the grant is lost, and the generator is sealed.
	EventLost = "lease lost"
	// EventLate: the grant was not renewed, for the 1st, 2nd, 4th, … time in a row.
	EventLate = "lease not renewed"
	// EventRolledBack: the store lost writes that it had acknowledged.
	EventRolledBack = "the store was rolled back"
	// EventReplaced: the namespace was made in another store.
	EventReplaced = "the store is not the one the namespace was made in"
	// EventFloorRaised: grants now begin above all that were granted before.
	EventFloorRaised = "floor raised"
)

// reporter keeps what happened until it may be announced. It belongs to the user of the claim.
type reporter struct{ events []Event }

// report logs an event, and keeps it for announce.
func (s *setup) report(kind string, cause error, attrs ...any) {
	level := slog.LevelWarn
	if kind == EventRolledBack || kind == EventReplaced {
		level = slog.LevelError
	}
	attrs = append([]any{"namespace", s.name}, attrs...)
	if cause != nil {
		attrs = append(attrs, "cause", cause)
	}
	s.opts.Logger.Log(context.Background(), level, kind, attrs...)
	if s.opts.Events != nil {
		s.reported.events = append(s.reported.events, Event{kind, s.name, cause})
	}
}

// announce passes reported events to Options.Events, at the
// end of an operation, so after the seal. Its goroutine
// holds no lock, and a slow callback delays no renewal.
func (s *setup) announce() {
	events := s.reported.events
	if s.reported.events = nil; len(events) == 0 {
		return
	}
	s.world.Go(func() {
		for _, e := range events {
			s.opts.Events(e)
		}
	})
}
