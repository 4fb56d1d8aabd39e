package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// auditProgress draws how far an audit is, in one line of a terminal: first the reading,
// then the checking.
type auditProgress struct {
	w     io.Writer // nil when there is no terminal
	total int64     // bytes; 0 when they are not known
	bytes atomic.Int64
	ids   atomic.Int64

	done, of   atomic.Int64 // of the checking
	checkStart atomic.Int64

	once    sync.Once
	started bool
	stop    chan struct{}
	ended   chan struct{}
}

func newAuditProgress(stderr io.Writer) *auditProgress {
	p := &auditProgress{stop: make(chan struct{}), ended: make(chan struct{})}
	if isTerminal(stderr) {
		p.w = stderr
	}
	return p
}

// start begins to draw. What an audit has to read is known only for files.
func (p *auditProgress) start(total int64) {
	p.total, p.started = total, true
	go p.run(time.Now())
}

// checking is called while the audit looks at the IDs again.
func (p *auditProgress) checking(done, total int64) {
	p.checkStart.CompareAndSwap(0, time.Now().UnixNano())
	p.done.Store(done)
	p.of.Store(total)
}

func (p *auditProgress) run(start time.Time) {
	defer close(p.ended)
	if p.w == nil {
		return
	}
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
func (p *auditProgress) end() {
	p.once.Do(func() {
		close(p.stop)
		if p.started {
			<-p.ended
		}
	})
}

// line is the bar after a time.
func (p *auditProgress) line(took time.Duration) string {
	ids := p.ids.Load()
	if of := p.of.Load(); of > 0 {
		done := p.done.Load()
		checked := time.Since(time.Unix(0, p.checkStart.Load()))
		return "checking " + barOf(float64(done)/float64(of), checked) + " of " + thousands(ids)
	}
	rate := perSecond(float64(ids) / took.Seconds())
	if p.total == 0 {
		return fmt.Sprintf("reading %s, %s", thousands(ids), rate)
	}
	share := float64(p.bytes.Load()) / float64(p.total)
	return fmt.Sprintf("reading %s, %s, %s", barOf(share, took), thousands(ids), rate)
}

// barOf is a bar with the time that is left, if the rest goes as fast as what is done.
func barOf(share float64, took time.Duration) string {
	const width = 30
	share = min(max(share, 0), 1)
	left := "?"
	if share > 0 {
		left = (time.Duration(math.Ceil(took.Seconds()*(1-share)/share)) * time.Second).String()
	}
	filled := int(share * width)
	bar := strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
	return fmt.Sprintf("%3.0f%% %s %s left", share*100, bar, left)
}
