package lease

import (
	"context"
	"log/slog"
)

// Event is something that happened to a lease, for [Options.Events].
type Event struct {
	Kind      EventKind
	Namespace string
	Label     string // of the options
	Cause     error  // nil if the kind says it all
}

// EventKind says what happened, as the line in the log does.
type EventKind string

// The kinds of events.
const (
	// EventLost: the grant is lost, and the generator is sealed.
	EventLost EventKind = "lease lost"
	// EventLate: the grant was not renewed, for the 1st, 2nd, 4th, … time in a row.
	EventLate EventKind = "lease not renewed"
	// EventRolledBack: the store lost writes that it had acknowledged.
	EventRolledBack EventKind = "the store was rolled back"
	// EventReplaced: the namespace was made in another store.
	EventReplaced EventKind = "the store is not the one the namespace was made in"
	// EventFloorRaised: grants now begin above all that were granted before.
	EventFloorRaised EventKind = "floor raised"
)

// report logs an event, and keeps it for announce.
func (c *claim) report(kind EventKind, cause error, attrs ...any) {
	level := slog.LevelWarn
	if kind == EventRolledBack || kind == EventReplaced {
		level = slog.LevelError
	}
	attrs = append([]any{"namespace", c.name}, attrs...)
	if cause != nil {
		attrs = append(attrs, "cause", cause)
	}
	c.opts.Logger.Log(context.Background(), level, string(kind), attrs...)
	if c.opts.Events != nil {
		c.events = append(c.events, Event{kind, c.name, c.opts.Label, cause})
	}
}
