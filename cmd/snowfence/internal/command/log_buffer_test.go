package command

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// lateReader reads what is written after a while.
type lateReader struct {
	bytes.Buffer
	began chan struct{}
}

func (l *lateReader) Write(b []byte) (int, error) {
	<-l.began
	return l.Buffer.Write(b)
}

// What does not fit is counted, and its reader hears of it; nothing else is
// lost or moved.
func TestLogBufferCountsWhatItDrops(t *testing.T) {
	out := &lateReader{began: make(chan struct{})}
	var told int
	b := &logBuffer{to: out, tell: func(n int) { told += n }}
	line := []byte(strings.Repeat("x", 1023) + "\n")
	const lines = 5000
	for range lines {
		_, _ = b.Write(line)
	}
	if n := len(b.queue); n > mostLog {
		t.Errorf("%d bytes wait", n)
	}
	close(out.began)
	for end := time.Now().Add(time.Minute); ; {
		b.flush()
		b.mu.Lock()
		idle := b.idle == nil
		b.mu.Unlock()
		if idle || time.Now().After(end) {
			break
		}
	}
	if told < lines-2*1024 || told+bytes.Count(out.Bytes(), line) != lines {
		t.Errorf("dropped %d, read %d of %d", told, bytes.Count(out.Bytes(), line), lines)
	}
}
