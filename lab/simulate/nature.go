package simulate

import (
	"maps"
	"time"
)

// allowSkew keeps to the promises of a store: grants after a rollback start
// above any clock's writes only if all clocks are within the allowed skew.
// A store with a clock of its own sees to that; where it has none, a run
// has either good clocks or a store that is not rolled back.
func (s *sim) allowSkew() {
	switch {
	case s.store.clock:
		if s.jump == time.Hour {
			s.jump = 24 * time.Hour
		}
	case s.chance.IntN(2) == 0:
		s.jump = min(s.jump, s.skew/2)
		s.rates[faultFreeze] = 0
	default:
		s.rates[faultMoved], s.rates[faultSetBack], s.rates[faultVanished] = 0, 0, 0
	}
}

// drawPause is the time until the next larger fault.
func (s *sim) drawPause() time.Duration {
	return time.Duration(s.chance.ExpFloat64() * float64(s.nature))
}

// strikeOnce lets one of the larger faults happen, and plans the next.
func (s *sim) strikeOnce() {
	if s.calm {
		return
	}
	s.runAfter(s.drawPause(), s.strikeOnce)
	if s.chance.IntN(40) == 0 {
		s.backUpStore()
	}
	var sum int
	for f := faultCrash; f < numFaults; f++ {
		if f != faultStall {
			sum += s.rates[f]
		}
	}
	x, slots := s.chance.IntN(sum), s.chance.Perm(len(s.slots))
	var f Fault
	for f = faultCrash; ; f++ {
		if f == faultStall {
			continue
		}
		if x -= s.rates[f]; x < 0 {
			break
		}
	}
	amount := s.chance.Int64N(1 << 40)
	chance := float64(amount) / (1 << 40)
	switch f {
	case faultOutage, faultSetBack, faultMoved, faultVanished, faultPromoted:
		s.strikeStore(f, chance)
	case faultAlter, faultEnd, faultAdmit:
		s.manageSequence(f, chance)
	case faultRelease, faultVeto, faultChange, faultDelete, faultConfirm:
		s.operate(f, chance)
	default:
		for _, i := range slots {
			if p := s.slots[i].process; p != nil &&
				(f != faultTwins || p.verbose && len(p.log) > 0 && p.pausedUntil <= s.now) {
				s.noteFault(f, p, 0)
				s.strikeProcess(f, p, chance)
				return
			}
		}
	}
}

// strikeProcess does something to a process or the clock of its machine.
func (s *sim) strikeProcess(f Fault, p *process, chance float64) {
	long := time.Duration(chance * chance * float64(4*s.ttl))
	sl := p.slot
	switch f {
	case faultCrash:
		s.killProcess(p)
	case faultPause:
		p.pausedUntil = max(p.pausedUntil, s.now+long)
	case faultPartition:
		p.apart = max(p.apart, s.now+long)
	case faultTwins:
		s.resumeTwice(p)
	case faultJump:
		off := time.Duration((2*chance - 1) * float64(s.jump))
		s.ahead = max(s.ahead, off)
		sl.clock.moveTo(s.now, off, 0, false)
	case faultFreeze:
		sl.clock.moveTo(s.now, sl.clock.offsetAt(s.now), 0, true)
	case faultDrift:
		sl.clock.moveTo(s.now, sl.clock.offsetAt(s.now), int64((2*chance-1)*500), false)
	}
	if f == faultFreeze || f == faultDrift || f == faultJump {
		p.clock = sl.clock
		n := sl.clock
		s.runAfter(time.Duration((0.1+chance)*float64(10*s.ttl)), func() {
			if sl.clock == n && !s.calm { // set right again
				sl.clock = clock{since: s.now}
				if p := sl.process; p != nil {
					p.clock = clock{since: s.now}
				}
			}
		})
	}
}

// strikeStore does something to the store.
func (s *sim) strikeStore(f Fault, chance float64) {
	st := s.store
	s.noteFault(f, nil, 0)
	switch f {
	case faultOutage:
		st.down = max(st.down, s.now+time.Duration(chance*chance*float64(2*s.ttl)))
	case faultPromoted:
		st.changeIdentity()
	case faultMoved: // another server with the data of an older moment
		s.setBack()
		st.changeIdentity()
		s.noteSilentLoss(func(c *counter) bool { return c.lacksTooMuch(st) })
	case faultSetBack:
		before := maps.Clone(st.records)
		s.setBack()
		s.noteSilentLoss(func(*counter) bool { return true })
		s.forgetGrants(nil)
		for k, r := range before {
			if st.records[k].Nonce != r.Nonce {
				s.setBacks[r.Nonce] = setBack{s.now, s.countRaises()}
			}
		}
	case faultVanished:
		if n := len(s.counters); n > 0 {
			s.loseRecord(s.counters[int(chance*float64(n))])
			return
		}
		for _, r := range st.nodeRecords() {
			if chance -= float64(s.unit) / float64(s.last+1); chance < 0 {
				delete(st.records, r.Key)
				st.hasLost = true
				s.forgetGrants(&r.Node)
				s.setBacks[r.Nonce] = setBack{s.now, s.countRaises()}
				return
			}
		}
	}
}

// setBack brings the store to its backup.
func (s *sim) setBack() {
	if s.backupEra != s.era { // a backup from before a change of layout is of no use
		return
	}
	s.store.putBackupBack()
}

// forgetGrants marks the grants that the store no longer knows: of one
// node, or of all.
func (s *sim) forgetGrants(node *int64) {
	for n, cs := range s.claims {
		if node != nil && n != *node {
			continue
		}
		r := s.store.get(s.recordKey(n))[0]
		for _, c := range cs {
			if r.Until < c.until {
				c.setBacks = append(c.setBacks, setBack{s.now, s.countRaises()})
			}
		}
	}
}
