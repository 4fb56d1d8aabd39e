package simulate

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// task is a goroutine of a simulated process. It is a coroutine: it runs
// until it waits, and then the simulation goes on with the next event.
type task struct {
	p     *process
	id    int
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
	over  bool

	waits   int // how many waits began: tells a timer whether it is still wanted
	chans   []<-chan struct{}
	free    bool          // it waits, and nothing has ended the wait yet
	waitEnd int           // what ended the wait: the index of a channel, or −1
	until   time.Duration // when the wait ends by itself; 0 for never
}

// killed is the panic of a task of a dead process: it ends where it stands.
type killed struct{}

// Go implements world.World.
func (p *process) Go(f func()) {
	if p.dead {
		return
	}
	t := &task{p: p, id: p.starts}
	p.starts++
	p.tasks = append(p.tasks, t)
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			switch r := recover().(type) {
			case nil, killed:
			default:
				panic(fmt.Sprintf("task %d of process %s: %v", t.id, p.name, r))
			}
		}()
		f()
	})
	if !p.replay {
		p.wakeSoon(t)
	}
}

// wakeSoon lets a task run soon: goroutines wait for a processor, and now
// and then for a long time.
func (p *process) wakeSoon(t *task) {
	d := time.Duration(1 + p.env.IntN(50_000))
	if d%64 == 0 && p.s.drawFault(faultStall, p, 0) {
		d = time.Duration(p.env.Int64N(int64(p.s.ttl)))
	}
	p.s.runAfter(d, func() { p.s.runTask(t) })
}

// runTask lets a task go on until it waits again.
func (s *sim) runTask(t *task) {
	p := t.p
	switch {
	case p.dead || t.over:
		return
	case p.pausedUntil > s.now:
		s.runAt(p.pausedUntil+time.Duration(p.env.IntN(1000)), func() { s.runTask(t) })
		return
	}
	p.logEntry(entry{what: ran, index: t.id})
	p.stepTask(t)
	p.wakeReady()
}

// stepTask is run without its conditions.
func (p *process) stepTask(t *task) {
	s := p.s
	outer := s.task
	s.task = t
	if _, ok := t.next(); !ok {
		t.over = true
		p.forgetTask(t)
	}
	s.task = outer
}

func (p *process) forgetTask(t *task) {
	for i, o := range p.tasks {
		if o == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			return
		}
	}
}

// wakeReady wakes the tasks with a ready event.
func (p *process) wakeReady() {
	if p.dead || p.replay {
		return
	}
	for _, t := range p.tasks {
		if t.free {
			if i := poll(p.env, t.chans); i >= 0 {
				p.logEntry(entry{what: gave, index: t.id, value: i})
				t.free, t.waitEnd = false, i
				p.wakeSoon(t)
			}
		}
	}
}

// poll receives from the first channel that is ready, in an order of
// chance, and returns its index; −1 when none is.
func poll(chance *rand.Rand, chans []<-chan struct{}) int {
	n := len(chans)
	if n == 0 {
		return -1
	}
	start := 0
	if n > 1 {
		start = chance.IntN(n)
	}
	for k := range n {
		i := (start + k) % n
		select {
		case <-chans[i]:
			return i
		default:
		}
	}
	return -1
}

// Wait implements world.World.
func (p *process) Wait(d time.Duration, chans ...<-chan struct{}) int {
	if p.dead {
		panic(killed{})
	}
	t := p.s.task
	if t == nil || t.p != p {
		panic("a wait outside of the process's tasks")
	}
	if i := poll(p.programRand, chans); i >= 0 {
		return i
	}
	if d == 0 {
		return -1
	}
	t.waits++
	t.chans, t.free, t.waitEnd = chans, true, -1
	t.until = 0
	if d > 0 {
		t.until = p.virtualTime() + d
		if !p.replay {
			p.expireWait(t, d)
		}
	}
	if !t.yield(struct{}{}) {
		panic(killed{})
	}
	t.chans = nil
	return t.waitEnd
}

// expireWait ends the present wait of a task after d.
func (p *process) expireWait(t *task, d time.Duration) {
	n := t.waits
	p.s.runAfter(d, func() {
		if t.free && t.waits == n && !p.dead {
			p.logEntry(entry{what: gave, index: t.id, value: -1})
			t.free, t.waitEnd = false, -1
			p.wakeSoon(t)
		}
	})
}

// sleepFor waits for d and for nothing else.
func (p *process) sleepFor(d time.Duration) { p.Wait(max(d, 1)) }
