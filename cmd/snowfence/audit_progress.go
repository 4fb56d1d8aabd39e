package main

import (
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/show"
)

// auditProgress draws how far an audit is, in one line of a terminal: first the reading,
// then the checking.
type auditProgress struct {
	w     io.Writer
	bar   *progress // nil when there is no terminal
	total int64     // bytes; 0 when they are not known
	bytes atomic.Int64
	ids   atomic.Int64

	done, of   atomic.Int64 // of the checking
	checkStart atomic.Int64
}

// start begins to draw. What an audit has to read is known only for files.
func (p *auditProgress) start(total int64) {
	p.total = total
	if isTerminal(p.w) {
		p.bar = startProgress(p.w, p.line)
	}
}

// end removes the bar.
func (p *auditProgress) end() { p.bar.end() }

// checking is called while the audit looks at the IDs again.
func (p *auditProgress) checking(done, total int64) {
	p.checkStart.CompareAndSwap(0, time.Now().UnixNano())
	p.done.Store(done)
	p.of.Store(total)
}

// line is the bar after a time.
func (p *auditProgress) line(took time.Duration) string {
	ids := p.ids.Load()
	if of := p.of.Load(); of > 0 {
		done := p.done.Load()
		checked := time.Since(time.Unix(0, p.checkStart.Load()))
		return "checking " + barAndTime(float64(done)/float64(of), checked) + " of " + show.Thousands(ids)
	}
	rate := show.PerSecond(float64(ids) / took.Seconds())
	if p.total == 0 {
		return fmt.Sprintf("reading %s, %s", show.Thousands(ids), rate)
	}
	share := float64(p.bytes.Load()) / float64(p.total)
	return fmt.Sprintf("reading %s, %s, %s", barAndTime(share, took), show.Thousands(ids), rate)
}

// barAndTime is a bar with the time that is left, if the rest goes as fast as what is done.
func barAndTime(share float64, took time.Duration) string {
	share = min(max(share, 0), 1)
	left := "?"
	if share > 0 {
		left = (time.Duration(math.Ceil(took.Seconds()*(1-share)/share)) * time.Second).String()
	}
	return fmt.Sprintf("%s %s left", barOf(share), left)
}
