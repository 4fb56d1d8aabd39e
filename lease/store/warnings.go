package store

import (
	"context"
	"log/slog"
)

type warnings struct{ slog.Handler }

// Warnings returns a logger that passes on records from slog.LevelWarn up.
func Warnings(l *slog.Logger) *slog.Logger { return slog.New(warnings{l.Handler()}) }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
