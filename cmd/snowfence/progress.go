package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// progress draws a bar in one line of a terminal. Runs that end within its first second
// draw nothing.
type progress struct {
	w     io.Writer
	total int64
	done  *atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

func startProgress(w io.Writer, total int64, done *atomic.Int64) *progress {
	p := &progress{w: w, total: total, done: done, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.run(time.Now())
	return p
}

func (p *progress) run(start time.Time) {
	defer close(p.ended)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	drawn := false
	for {
		select {
		case <-tick.C:
			if took := time.Since(start); took > time.Second {
				drawn = true
				fmt.Fprintf(p.w, "\r%s\x1b[K", progressLine(p.done.Load(), p.total, took))
			}
		case <-p.stop:
			if drawn {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		}
	}
}

// end removes the bar.
func (p *progress) end() {
	close(p.stop)
	<-p.ended
}

// progressLine is the bar after a time.
func progressLine(done, total int64, took time.Duration) string {
	const width = 30
	share := float64(done) / float64(total)
	filled := min(int(share*width), width)
	rate := float64(done) / took.Seconds()
	left := "?"
	if rate > 0 {
		left = approximately(math.Ceil(float64(total-done) / rate))
	}
	return fmt.Sprintf("%3.0f%% %s%s %s of %s, %s, %s left", share*100,
		strings.Repeat("█", filled), strings.Repeat("░", width-filled), thousands(done), thousands(total),
		perSecond(rate), left)
}
