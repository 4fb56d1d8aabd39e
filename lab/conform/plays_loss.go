package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// requestDirectly makes a request to the server as another client, or an
// operator.
func (s *scene) requestDirectly(method string, body map[string]any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := httptest.NewRequest(http.MethodPost, leaseService+method, bytes.NewReader(b)).WithContext(s.ctx)
	r.Header.Set("Content-Type", "application/json")
	if w := s.proxy.askServer(r, b); w.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", method, w.Code, w.Body)
	}
	return nil
}

func playTaken(s *scene) {
	if !s.nextUntil("the first ID", func() bool { return s.madeAbove(0) }) {
		return
	}
	node := s.judge.latestGrant().node
	rival := map[string]any{"namespace": namespace, "label": "a rival", "node": fmt.Sprint(node)}
	if err := s.requestDirectly("Acquire", rival); err != nil {
		s.noteMiss(err.Error())
		return
	}
	s.awaitRecovery("an ID of another node")
}

// awaitRecovery waits until the client has lost its node, and acquired
// again.
func (s *scene) awaitRecovery(what string) {
	had := s.judge.countAcquisitions()
	s.nextUntil(what, func() bool {
		g := s.judge.grantOf(had - 1)
		return s.judge.countAcquisitions() > had && s.madeAbove(0) &&
			g.lost && !g.lostKnown.IsZero() && s.tickAhead(0) > g.until
	})
}

func playGone(s *scene) {
	if !s.nextUntil("the first ID", func() bool { return s.madeAbove(0) }) {
		return
	}
	acquired := s.countCalls("Acquire")
	s.on(func(c *call) answer {
		if c.renew != nil || c.acquire != nil && c.n <= acquired+2 {
			return answer{unreached: true, fail: noNamespace}
		}
		s.on(nil)
		return answer{}
	})
	s.awaitRecovery("an ID after the namespace was there again")
}

func playElsewhere(s *scene) {
	if !s.nextUntil("the first ID", func() bool { return s.madeAbove(0) }) {
		return
	}
	had, fails := s.judge.countAcquisitions(), [...]*failure{elsewhere, invalid}
	s.on(func(c *call) answer {
		n := s.judge.countAcquisitions() - had
		if c.renew == nil || n >= len(fails) {
			return answer{}
		}
		return answer{unreached: true, fail: fails[n]}
	})
	s.nextUntil("an ID of the third node, and a renewal of that", func() bool {
		return s.judge.countAcquisitions() >= had+len(fails) && s.usesRenewal()
	})
}

func playAgain(s *scene) {
	for range 5 {
		early := func() bool { return s.madeAbove(0) && s.madeAbove(s.tickAhead(s.presentLayout().Tick-s.rule.ttl/3)) }
		if !s.nextUntil("IDs early in a tick", early) {
			return
		}
		var soon atomic.Bool // the node comes again in the tick of its last IDs
		g, acquired, had := s.judge.latestGrant(), s.countCalls("Acquire"), s.judge.countAcquisitions()
		s.on(func(c *call) answer {
			return answer{change: func(l *pb.Lease) {
				if c.acquire != nil && c.n == acquired+1 { // as a store does that lost its last writes
					l.From = g.from
					soon.Store(s.tickAhead(time.Second) == g.highest)
				}
			}}
		})
		err := s.requestDirectly("ReleaseNode", map[string]any{"namespace": namespace, "node": fmt.Sprint(g.node)})
		if err != nil {
			s.noteMiss(err.Error())
			return
		}
		again := func() bool { return s.judge.countAcquisitions() > had && s.madeAbove(s.judge.grantOf(had).from+1) }
		if !s.nextUntil("IDs of the node again", again) || soon.Load() {
			return
		}
	}
	s.noteMiss("the node again in the tick in which it was lost")
}

func playRaised(s *scene) {
	var raised atomic.Int64
	s.on(func(c *call) answer {
		return answer{change: func(l *pb.Lease) {
			if c.renew == nil {
				return
			}
			// As after a pause: the ticks after the grant are left out.
			raised.CompareAndSwap(0, s.judge.latestGrant().until+int64(3*time.Second/s.presentLayout().Tick))
			l.From = max(l.From, raised.Load())
			l.Until = max(l.Until, l.From)
		}}
	})
	s.nextUntil("an ID above the raised from", func() bool { return raised.Load() > 0 && s.madeAbove(raised.Load()) })
}

func playClock(s *scene) {
	const off = time.Hour
	answers := 0
	s.on(func(c *call) answer {
		return answer{change: func(l *pb.Lease) {
			ticks := int64(off / s.presentLayout().Tick)
			l.From, l.Until = l.From+ticks, l.Until+ticks
			l.Now.Seconds += int64(off / time.Second)
		}}
	})
	s.nextUntil("ten answers after a grant", func() bool {
		if s.judge.countAcquisitions() > 0 {
			answers++
		}
		return answers > 10
	})
}

func playEnd(s *scene) {
	if !s.nextUntil("an ID before the end of the layout", func() bool { return s.madeAbove(0) }) {
		return
	}
	l, answers := s.presentLayout(), 0
	end := l.TimeOf(1 << l.Bits("time"))
	s.nextUntil("ten answers after the end of the layout", func() bool {
		if time.Now().After(end) {
			answers++
		}
		return answers > 10
	})
}

func playKilled(s *scene) {
	if !s.nextUntil("IDs beyond the first grant", s.usesRenewal) {
		return
	}
	s.child.kill()
	s.judge.endGrants("its process was killed")
	had := s.judge.countAcquisitions()
	if s.startAdapter() {
		s.nextUntil("IDs of another process", func() bool {
			return s.judge.countAcquisitions() > had && s.madeAbove(0)
		})
	}
}

func playStopped(s *scene) {
	if !s.nextUntil("IDs beyond the first grant", s.usesRenewal) {
		return
	}
	end := s.judge.latestGrant().until
	err := suspend(s.child.cmd.Process)
	if err == nil {
		wait(s.ctx, time.Until(s.presentLayout().TimeOf(end))+time.Second)
		err = resume(s.child.cmd.Process)
	}
	if err != nil {
		s.noteMiss(err.Error())
		return
	}
	s.nextUntil("IDs of later ticks", func() bool { return s.madeAbove(end) })
}
