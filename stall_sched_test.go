//go:build snowfence_stall

package snowfence

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// conductor runs a few goroutines of the real code one at a time: each stops at every
// stall point, and goes on when it is its turn. It works in a synctest bubble, where time
// stands still unless the conductor lets it go on.
type conductor struct {
	t *testing.T

	mu     sync.Mutex
	actors []*player
	byID   map[uint64]*player
	free   bool // no goroutine stops any more
	stuck  bool // a goroutine waits for a mutex, and synctest's time stands still for that

	calm int             // goroutines when all were last seen to wait, plus those done by then
	seen *[numPoints]int // how often a goroutine was stopped there while others ran
}

// player is one goroutine: of the test, or one that the generator started and that
// reached a stall point.
type player struct {
	name    string
	turn    chan struct{}
	waits   bool // for its turn
	done    bool
	through bool  // does not stop
	at      point // where it waits

	time []time.Duration // of the clock alone, which has no goroutine: the steps still to make
	step func(time.Duration)
}

func newConductor(t *testing.T, seen *[numPoints]int) *conductor {
	c := &conductor{t: t, byID: map[uint64]*player{}, seen: seen}
	stop := c.stop
	onStall.Store(&stop)
	return c
}

// play adds a goroutine that waits for its turn before it starts.
func (c *conductor) play(name string, f func(p *player)) {
	p := &player{name: name, turn: make(chan struct{}), waits: true, at: -1}
	c.actors = append(c.actors, p)
	go func() {
		c.mu.Lock()
		c.byID[goid()] = p
		c.mu.Unlock()
		<-p.turn
		f(p)
		c.mu.Lock()
		p.done = true
		c.mu.Unlock()
	}()
}

// clock adds an actor that makes these steps of time.
func (c *conductor) clock(step func(time.Duration), steps ...time.Duration) {
	c.actors = append(c.actors, &player{name: "clock", waits: true, time: steps, step: step})
}

// stop is what happens at a stall point.
func (c *conductor) stop(at point) {
	id := goid()
	c.mu.Lock()
	p := c.byID[id]
	if p == nil && !c.free {
		p = &player{name: "background", turn: make(chan struct{})}
		c.byID[id] = p
		c.actors = append(c.actors, p)
	}
	if c.free || p.through {
		c.mu.Unlock()
		return
	}
	p.waits, p.at = true, at
	c.mu.Unlock()
	<-p.turn
}

// decision is a place in a schedule: who could go on, and who did.
type decision struct {
	enabled []int
	last    int // who went before
	chosen  int
}

// run plays a schedule: the given choices, and then everybody as long as it goes.
func (c *conductor) run(choices []int) (made []decision) {
	last := -1
	for {
		c.settle()
		enabled := c.enabled()
		if len(enabled) == 0 {
			break
		}
		next := enabled[0]
		for _, e := range enabled {
			if e == last {
				next = e
			}
		}
		// What the generator runs in the background is not held up before its first stall
		// point, so now and then a schedule cannot be repeated to the letter; then it
		// goes on as it comes.
		if i := len(made); i < len(choices) && slices.Contains(enabled, choices[i]) {
			next = choices[i]
		}
		made = append(made, decision{enabled, last, next})
		last = next
		c.wake(c.actors[next])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = true
	for _, p := range c.actors {
		if p.waits && p.turn != nil {
			close(p.turn) // it came from the background after everybody was seen to wait
			continue
		}
		if !p.done && p.name != "background" && p.turn != nil {
			c.t.Errorf("%s waits for ever, last stopped at point %d", p.name, p.at)
		}
	}
	return made
}

func (c *conductor) enabled() (list []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.actors {
		if p.waits && (p.turn != nil || !c.stuck && len(p.time) > 0) {
			list = append(list, i)
		}
	}
	return list
}

func (c *conductor) wake(p *player) {
	if p.turn == nil {
		p.step(p.time[0])
		p.time = p.time[1:]
		synctest.Wait() // a ticker may have run
		return
	}
	c.mu.Lock()
	p.waits = false
	for _, q := range c.actors {
		if q != p && q.waits && q.turn != nil && q.at >= 0 {
			c.seen[q.at]++
		}
	}
	c.mu.Unlock()
	p.turn <- struct{}{}
}

// settle returns when every goroutine of the generators waits: for its turn, for a mutex,
// or for an answer.
func (c *conductor) settle() {
	buf := make([]byte, 1<<16)
	for spin := 0; ; spin++ {
		runtime.Gosched()
		c.mu.Lock()
		loose, done := 0, 0
		for _, p := range c.actors {
			switch {
			case p.done:
				done++
			case !p.waits && p.at != afterTicker: // a ticker that does not wait for its turn waits for the time
				loose++
			}
		}
		c.mu.Unlock()
		switch {
		case loose == 0 && runtime.NumGoroutine()+done == c.calm:
			c.stuck = false
			return
		case spin < 50:
			continue // most stop at the next point soon
		}
		busy, stuck := false, false
		for dump := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, rest, _ := strings.Cut(dump, "\n")
			if !strings.Contains(rest, "snowfence/snowfence.") || strings.Contains(rest, "(*conductor).settle") {
				continue
			}
			lock := strings.Contains(head, "[sync.Mutex.Lock")
			stuck = stuck || lock
			busy = busy || !lock && !strings.Contains(head, "(durable)") &&
				!strings.Contains(head, "[chan receive") && !strings.Contains(head, "[select")
		}
		if !busy {
			c.stuck, c.calm = stuck, runtime.NumGoroutine()+done
			return
		}
	}
}

// goid returns the number of the running goroutine, which nothing but its stack trace tells.
func goid() uint64 {
	var buf [64]byte
	fields := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// schedules plays scene under every schedule with at most the given number of
// preemptions: places where a goroutine that could go on is stopped for another. It
// returns how many that were.
func schedules(t *testing.T, preemptions int, scene func(t *testing.T, choices []int) []decision) (count int) {
	type prefix struct {
		choices []int
		cost    int
	}
	for todo := []prefix{{}}; len(todo) > 0 && !t.Failed(); count++ {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var made []decision
		synctest.Test(t, func(t *testing.T) { made = scene(t, p.choices) })
		choices := make([]int, len(made))
		for i, d := range made {
			choices[i] = d.chosen
		}
		for i := len(p.choices); i < len(made); i++ {
			d, cost := made[i], p.cost
			for _, e := range d.enabled {
				if e == d.last {
					cost++
				}
			}
			for _, e := range d.enabled {
				if e != d.chosen && cost <= preemptions {
					todo = append(todo, prefix{append(choices[:i:i], e), cost})
				}
			}
		}
	}
	return count
}
