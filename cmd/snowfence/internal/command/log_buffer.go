package command

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// logBuffer passes lines on to a writer that may block for ever, and never
// waits for it. It keeps up to 1 MB, and drops and counts the lines after
// that. Safe for concurrent use.
type logBuffer struct {
	to   io.Writer
	tell func(dropped int) // writes a line about it here

	mu    sync.Mutex
	queue []byte
	drops int
	idle  chan struct{} // closed when all is written; nil while nothing is
}

// mostLog bounds the waiting lines, in bytes. As much may be on its way.
const mostLog = 1 << 20

// Write implements [io.Writer]. It gets whole lines, and has no error.
func (b *logBuffer) Write(lines []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue)+len(lines) > mostLog {
		b.drops++
		return len(lines), nil
	}
	b.queue = append(b.queue, lines...)
	if b.idle == nil {
		b.idle = make(chan struct{})
		go b.drain()
	}
	return len(lines), nil
}

// drain writes all waiting lines.
func (b *logBuffer) drain() {
	for {
		b.mu.Lock()
		lines, dropped := b.queue, b.drops
		b.queue, b.drops = nil, 0
		if lines == nil {
			close(b.idle)
			b.idle = nil
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		_, _ = b.to.Write(lines)
		if dropped > 0 {
			b.tell(dropped)
		}
	}
}

// flush waits until all is written, but not long for a reader that does not
// read.
func (b *logBuffer) flush() {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(time.Second):
	}
}

// BufferLog has the program log through a buffer from here on, so that
// nothing waits for the reader of its log. Exit flushes it.
func BufferLog(e *Env) {
	e.Stderr = &logBuffer{to: e.Stderr, tell: func(dropped int) {
		e.say(slog.LevelWarn, "nobody read this log: %d lines were dropped", dropped)
	}}
}
