package server

import (
	"context"
	"log/slog"
)

// telling is a handler of log records that makes events of what leases say about trouble.
type telling struct {
	slog.Handler
	events *Events
}

// Enabled implements [slog.Handler]: warnings are events even where they are not logged.
func (t telling) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || t.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (t telling) Handle(ctx context.Context, r slog.Record) error {
	if kind := told(r.Message); kind != "" {
		ev := Event{Kind: kind, Text: r.Message}
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "namespace":
				ev.Namespace = a.Value.String()
			case "cause":
				text := a.Value.String()
				if err, ok := a.Value.Any().(error); ok {
					text = Words(err) // people see events on the dashboard
				}
				ev.Text += ": " + text
			}
			return true
		})
		t.events.Add(ev)
	}
	if !t.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

// told returns the kind of event that a message of a lease is; "" is none.
func told(message string) string {
	switch message {
	case "lease lost":
		return "lost"
	case "lease not renewed":
		return "late"
	case "the store was rolled back", "the store is not the one the namespace was made in", "floor raised":
		return "store"
	}
	return ""
}

// WithAttrs implements [slog.Handler].
func (t telling) WithAttrs(attrs []slog.Attr) slog.Handler {
	return telling{t.Handler.WithAttrs(attrs), t.events}
}

// WithGroup implements [slog.Handler].
func (t telling) WithGroup(name string) slog.Handler {
	return telling{t.Handler.WithGroup(name), t.events}
}
