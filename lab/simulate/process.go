package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// process is a simulated process, and the world its leases and generators
// live in.
type process struct {
	s    *sim
	name string
	slot *slot

	seed        uint64
	programRand *rand.Rand // choices of the program itself
	env         *rand.Rand // what happens to it

	tasks       []*task // that are not over
	starts      int
	programs    int // of the tasks that use leases, how many go on
	era         int // the layout it was built for
	clock       clock
	dead        bool
	pausedUntil time.Duration
	apart       time.Duration // no message passes between it and the store until then
	contexts    []*timeout
	calls       []*call
	holdings    []*holding // also those that were given back: a call that began before may still return
	takers      []*taker   // also those that were closed
	nonces      int
	told        store.Reply   // of a store that is asked apart, the last
	resumptions atomic.Uint64 // as a VMClock counts
	processor   uint64        // what its generator says: all that two copies do not share
	twin        *process      // resumed from the same snapshot

	// All input from outside, so that a snapshot of it can be resumed a
	// second time: the simulation feeds the same to another process.
	log     []entry
	replies []reply
	verbose bool
	replay  bool
	at      time.Duration // of the entry that is fed
}

// entry is one thing a process learned from outside.
type entry struct {
	what  what
	index int // of a task, a context or a call
	value int // index of the channel that ended a task's wait
	at    time.Duration
	clock clock
}

type reply struct {
	out any
	err error
}

type what uint8

const (
	ran     what = iota // a task ran until it waited
	gave                // a task's wait was ended
	expired             // a context's time was over
	replied             // the store's reply came in
)

// longestLog is how old a process that is resumed twice may be, in entries.
const longestLog = 20_000

func (p *process) logEntry(e entry) {
	if !p.verbose {
		return
	}
	if len(p.log) == longestLog {
		p.verbose, p.log = false, nil
		return
	}
	e.at, e.clock = p.s.now, p.clock
	p.log = append(p.log, e)
}

// Uint64 implements world.World.
func (p *process) Uint64() uint64 { return p.programRand.Uint64() }

// Text implements world.World. The kernels of two copies say the same for
// ever, and so do their clocks.
func (p *process) Text() string {
	p.nonces++
	var kernel [32]byte
	copy(kernel[:], fmt.Sprintf("%s %d", strings.TrimRight(p.name, "'"), p.nonces))
	return world.Text(kernel, p.processor, 0)
}

// Machine implements world.World.
func (p *process) Machine() world.Machine { return world.At(&p.resumptions) }

// timeout is a context with a deadline in virtual time. A context derived
// from it is told at once, because its Done is a standard context's.
type timeout struct {
	context.Context
	cancel  context.CancelFunc
	until   time.Duration
	expired bool
}

func (c *timeout) Err() error {
	if c.expired {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// WithTimeout implements world.World.
func (p *process) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &timeout{until: p.virtualTime() + d}
	c.Context, c.cancel = context.WithCancel(parent)
	k := len(p.contexts)
	p.contexts = append(p.contexts, c)
	switch {
	case d <= 0:
		c.expire()
	case !p.replay:
		p.s.runAfter(d, func() { p.expireContext(k) })
	}
	return c, c.cancel
}

// virtualTime is the virtual time, as the process sees it.
func (p *process) virtualTime() time.Duration {
	if p.replay {
		return p.at
	}
	return p.s.now
}

func (c *timeout) expire() {
	if c.Context.Err() == nil {
		c.expired = true
		c.cancel()
	}
}

func (p *process) expireContext(k int) {
	if p.dead {
		return
	}
	if c := p.contexts[k]; c != nil {
		p.contexts[k] = nil
		if c.Context.Err() == nil {
			p.logEntry(entry{what: expired, index: k})
			c.expire()
			p.wakeReady()
		}
	}
}

// killProcess ends a process where it stands.
func (s *sim) killProcess(p *process) {
	if p.dead {
		return
	}
	p.dead = true
	p.slot.hadRival = p.slot.hadRival || s.calm && p != p.slot.process
	for _, t := range p.tasks {
		if t != s.task {
			t.stop()
		}
	}
	p.tasks, p.log, p.contexts, p.calls = nil, nil, nil, nil
	s.planSuccessor(p)
}
