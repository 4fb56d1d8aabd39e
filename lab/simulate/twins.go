package simulate

import (
	"maps"
	"math/rand/v2"
)

// resumeTwice resumes the machine of a process a second time, as from a
// snapshot. Both have the same memory, and neither knows of the other. A
// goroutine cannot be copied, but a process can live its life again: a new
// process gets the same random numbers and all answers that the first one
// got up to this moment. In half of the runs the random numbers stay the
// same, as they do until the kernel notices that it was resumed.
//
// In every other run the hypervisor tells the copy, and often the first
// one: it is resumed, too.
func (s *sim) resumeTwice(p *process) {
	q := &process{s: s, name: p.name, slot: p.slot, seed: p.seed, era: p.era, programs: p.slot.leases, replay: true}
	q.programRand, q.env = rand.New(rand.NewPCG(q.seed, 3)), rand.New(rand.NewPCG(s.chance.Uint64(), 5))
	s.procs = append(s.procs, q)
	q.startWork()
	replies := p.replies
	for _, e := range p.log {
		q.at, q.clock = e.at, e.clock
		ok := true
		switch e.what {
		case ran:
			if t := q.taskByID(e.index); t != nil {
				q.stepTask(t)
			} else {
				ok = false
			}
		case gave:
			ok = q.endWait(e.index, e.value)
		case expired:
			c := q.contexts[e.index]
			q.contexts[e.index] = nil
			c.expire()
		case replied:
			c := q.calls[e.index]
			if ok = c != nil; ok {
				c.over, c.out, c.err = true, replies[0].out, replies[0].err
				close(c.done)
			}
			replies = replies[1:]
		}
		if !ok {
			s.violate("the simulation cannot repeat what %s did: %+v", p.name, e)
			return
		}
	}
	p.verbose, p.log, p.replies = false, nil, nil
	p.twin, q.twin = q, p
	if s.tells {
		q.resumptions.Add(1)
		p.resumptions.Add(s.chance.Uint64() % 2)
	}
	for i, h := range q.holdings {
		s.shareHold(p.holdings[i], h)
	}
	for i, t := range q.takers {
		p.takers[i].noteTwin(t)
	}
	q.endReplay()
}

func (p *process) taskByID(id int) *task {
	for _, t := range p.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// endWait ends the wait of a task of a replayed process as it ended in the
// first one.
func (p *process) endWait(id, ended int) bool {
	t := p.taskByID(id)
	if t == nil || !t.free {
		return false
	}
	if ended >= 0 {
		select {
		case <-t.chans[ended]:
		default:
			return false
		}
	}
	t.free, t.waitEnd = false, ended
	return true
}

// shareHold gives the hold of a lease to its twin, in the ledger too. A
// twin that is told of it must make nothing of it, and nothing is excused.
func (s *sim) shareHold(from, to *holding) {
	if s.tells {
		for _, c := range from.claims {
			d := *c
			d.owner, d.ended, d.useEnd, d.endedAt = to.p, true, c.from, s.now
			to.claims = append(to.claims, &d)
			if from.p.resumptions.Load() > 0 {
				c.stopAt(c.until, s.now)
			}
		}
		return
	}
	from.snapshot, from.forkTime = maps.Clone(from.attempts), s.now
	to.snapshot, to.forkTime = from.snapshot, s.now
	from.sharedRenewal, to.sharedRenewal = from.renewal, from.renewal
	for _, c := range from.claims {
		d := *c
		d.owner = to.p
		c.twin, d.twin = &d, c
		for n := c.node; n < c.node+c.nodes; n++ {
			c.sharedUntil = max(c.sharedUntil, c.until, from.attempts[n])
			s.claims[n] = append(s.claims[n], &d)
		}
		c.forkTime = s.now
		d.sharedUntil, d.forkTime = c.sharedUntil, c.forkTime
		to.claims = append(to.claims, &d)
	}
}

// endReplay ends the replay: from here on the process lives on its own. Its
// connections are gone.
func (p *process) endReplay() {
	s := p.s
	p.replay = false
	p.name += "'"
	s.copies++
	p.processor = s.copies
	if other := rand.New(rand.NewPCG(s.chance.Uint64(), 6)); !s.equal {
		p.programRand = other
	}
	for k, c := range p.contexts {
		if c != nil {
			s.runAt(max(c.until, s.now), func() { p.expireContext(k) })
		}
	}
	for n, c := range p.calls {
		if c != nil && !c.over {
			s.runAfter(p.drawPatience(), func() { p.deliverReply(n, c, nil, errUnanswered) })
		}
	}
	for _, t := range p.tasks {
		switch {
		case !t.free:
			p.wakeSoon(t)
		case t.until > 0:
			p.expireWait(t, max(t.until-s.now, 0))
		}
	}
	p.wakeReady()
}
