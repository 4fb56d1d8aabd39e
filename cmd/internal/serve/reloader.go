package serve

import (
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// reloader reads files again when they change.
type reloader struct {
	logger       *slog.Logger
	text         string // what the log says of files that cannot be read
	seen         stamps
	lastWarnings string // what was said of them
	failed       atomic.Bool
}

// readAgain calls read if one of the files changed, and reports whether it
// read them.
func (r *reloader) readAgain(read func() error, files ...string) bool {
	if !r.seen.changed(files...) {
		return false
	}
	if err := read(); err != nil {
		r.seen = nil
		r.failed.Store(true)
		if text := err.Error(); text != r.lastWarnings {
			r.lastWarnings = text
			r.logger.Warn(r.text, "cause", err)
		}
		return false
	}
	r.noteSuccess(r.seen)
	return true
}

// noteSuccess notes that the files with these stamps were read.
func (r *reloader) noteSuccess(seen stamps) {
	r.seen, r.lastWarnings = seen, ""
	r.failed.Store(false)
}

// logWarnings logs what ends soon.
func (r *reloader) logWarnings(warnings func(now time.Time) []string) {
	for _, text := range warnings(time.Now()) {
		r.logger.Warn(text)
	}
}

// stamps tell whether files were changed.
type stamps []stamp

type stamp struct {
	at   int64
	size int64
}

// changed reports whether one of the files is another than at the last
// call. A file that is not there is not a change that can be read.
func (s *stamps) changed(files ...string) bool {
	now := make(stamps, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil {
			now[i] = stamp{info.ModTime().UnixNano(), info.Size()}
		}
	}
	same := len(*s) == len(now)
	for i := range now {
		same = same && (*s)[i] == now[i]
	}
	*s = now
	return !same
}
