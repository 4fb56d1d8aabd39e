package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// progress draws a bar in one line of a terminal. Runs that end within its
// first second draw nothing.
type progress struct {
	w    io.Writer
	line func(took time.Duration) string
	once sync.Once
	stop chan struct{}
	done chan struct{}
}

func startProgress(w io.Writer, line func(took time.Duration) string) *progress {
	p := &progress{w: w, line: line, stop: make(chan struct{}), done: make(chan struct{})}
	go p.run(time.Now())
	return p
}

func (p *progress) run(start time.Time) {
	defer close(p.done)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	drawn := false
	for {
		select {
		case <-tick.C:
			if took := time.Since(start); took > time.Second {
				drawn = true
				fmt.Fprintf(p.w, "\r%s\x1b[K", p.line(took))
			}
		case <-p.stop:
			if drawn {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		}
	}
}

// end removes the bar. It may be called more than once.
func (p *progress) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}

// Progress draws a bar where a person looks, and returns what removes it.
func Progress(e *Env, t *Tally) (end func()) {
	if !IsTerminal(e.Stderr) {
		return func() {}
	}
	return startProgress(e.Stderr, t.line).end
}

// Tally is how many of some things are done.
type Tally struct {
	Done  atomic.Int64
	Total int64  // 0 if it is not known
	Noun  string // what they are; "" means IDs
}

// line is the bar of a tally after a time.
func (t *Tally) line(took time.Duration) string {
	done := t.Done.Load()
	share := float64(done) / float64(t.Total)
	rate := float64(done) / took.Seconds()
	left := "?"
	if rate > 0 {
		left = show.Approximately(math.Ceil(float64(t.Total-done) / rate))
	}
	speed := strings.Replace(show.PerSecond(rate), "IDs", cmp.Or(t.Noun, "IDs"), 1)
	if t.Total == 0 {
		return show.Thousands(done) + ", " + speed
	}
	const width = 30
	filled := min(int(share*width), width)
	bar := strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
	return fmt.Sprintf("%3.0f%% %s %s of %s, %s, %s left", share*100, bar, show.Thousands(done),
		show.Thousands(t.Total), speed, left)
}
