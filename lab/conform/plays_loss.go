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

// direct makes a request to the server as another client, or an operator.
func (s *scene) direct(method string, body map[string]any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := httptest.NewRequest(http.MethodPost, leaseService+method, bytes.NewReader(b)).WithContext(s.ctx)
	r.Header.Set("Content-Type", "application/json")
	if w := s.proxy.ask(r, b); w.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", method, w.Code, w.Body)
	}
	return nil
}

func playTaken(s *scene) {
	if !s.until("the first ID", func() bool { return s.made(0) }) {
		return
	}
	node := s.judge.last().node
	rival := map[string]any{"namespace": namespace, "label": "a rival", "node": fmt.Sprint(node)}
	if err := s.direct("Acquire", rival); err != nil {
		s.miss(err.Error())
		return
	}
	s.recovers("an ID of another node")
}

// recovers waits until the client has lost its node, and acquired again.
func (s *scene) recovers(what string) {
	had := s.judge.size()
	s.until(what, func() bool {
		g := s.judge.grantOf(had - 1)
		return s.judge.size() > had && s.made(0) && g.lost && !g.lostKnown.IsZero() && s.tick(0) > g.until
	})
}

func playGone(s *scene) {
	if !s.until("the first ID", func() bool { return s.made(0) }) {
		return
	}
	acquired := s.calls("Acquire")
	s.on(func(c *call) answer {
		if c.renew != nil || c.acquire != nil && c.n <= acquired+2 {
			return answer{unreached: true, fail: noNamespace}
		}
		s.on(nil)
		return answer{}
	})
	s.recovers("an ID after the namespace was there again")
}

func playElsewhere(s *scene) {
	if !s.until("the first ID", func() bool { return s.made(0) }) {
		return
	}
	had := s.judge.size()
	s.on(func(c *call) answer {
		if c.renew == nil || s.judge.size() > had {
			return answer{}
		}
		return answer{unreached: true, fail: elsewhere}
	})
	s.until("an ID of another node, and a renewal of that", func() bool {
		return s.judge.size() > had && s.renewed()
	})
}

func playAgain(s *scene) {
	for range 5 {
		early := func() bool { return s.made(0) && s.made(s.tick(s.layout().Tick-s.rule.ttl/3)) }
		if !s.until("IDs early in a tick", early) {
			return
		}
		var soon atomic.Bool // the node comes again in the tick of its last IDs
		g, acquired, had := s.judge.last(), s.calls("Acquire"), s.judge.size()
		s.on(func(c *call) answer {
			return answer{change: func(l *pb.Lease) {
				if c.acquire != nil && c.n == acquired+1 { // as a store does that lost its last writes
					l.From = g.from
					soon.Store(s.tick(time.Second) == g.highest)
				}
			}}
		})
		err := s.direct("ReleaseNode", map[string]any{"namespace": namespace, "node": fmt.Sprint(g.node)})
		if err != nil {
			s.miss(err.Error())
			return
		}
		again := func() bool { return s.judge.size() > had && s.made(s.judge.grantOf(had).from+1) }
		if !s.until("IDs of the node again", again) || soon.Load() {
			return
		}
	}
	s.miss("the node again in the tick in which it was lost")
}

func playRaised(s *scene) {
	var raised atomic.Int64
	s.on(func(c *call) answer {
		return answer{change: func(l *pb.Lease) {
			if c.renew == nil {
				return
			}
			// As after a pause: the ticks after the grant are left out.
			raised.CompareAndSwap(0, s.judge.last().until+int64(3*time.Second/s.layout().Tick))
			l.From = max(l.From, raised.Load())
			l.Until = max(l.Until, l.From)
		}}
	})
	s.until("an ID above the raised from", func() bool { return raised.Load() > 0 && s.made(raised.Load()) })
}

func playClock(s *scene) {
	const off = time.Hour
	answers := 0
	s.on(func(c *call) answer {
		return answer{change: func(l *pb.Lease) {
			ticks := int64(off / s.layout().Tick)
			l.From, l.Until = l.From+ticks, l.Until+ticks
			l.Now.Seconds += int64(off / time.Second)
		}}
	})
	s.until("ten answers after a grant", func() bool {
		if s.judge.size() > 0 {
			answers++
		}
		return answers > 10
	})
}

func playEnd(s *scene) {
	if !s.until("an ID before the end of the layout", func() bool { return s.made(0) }) {
		return
	}
	l, answers := s.layout(), 0
	end := l.TimeOf(1 << l.Bits("time"))
	s.until("ten answers after the end of the layout", func() bool {
		if time.Now().After(end) {
			answers++
		}
		return answers > 10
	})
}

func playKilled(s *scene) {
	if !s.until("IDs beyond the first grant", s.renewed) {
		return
	}
	s.child.kill()
	s.judge.end("its process was killed")
	had := s.judge.size()
	if s.start() {
		s.until("IDs of another process", func() bool { return s.judge.size() > had && s.made(0) })
	}
}

func playStopped(s *scene) {
	if !s.until("IDs beyond the first grant", s.renewed) {
		return
	}
	end := s.judge.last().until
	err := suspend(s.child.cmd.Process)
	if err == nil {
		wait(s.ctx, time.Until(s.layout().TimeOf(end))+time.Second)
		err = resume(s.child.cmd.Process)
	}
	if err != nil {
		s.miss(err.Error())
		return
	}
	s.until("IDs of later ticks", func() bool { return s.made(end) })
}
