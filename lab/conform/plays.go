package main

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

func playRenew(s *scene) {
	s.on(func(*call) answer {
		if err := s.proxy.replaceServer(); err != nil {
			s.keepError(err)
		}
		return answer{}
	})
	s.nextUntil("IDs beyond the first grant, and three renewals", func() bool {
		return s.usesRenewal() && s.countCalls("Renew") >= 3
	})
}

func playSequence(s *scene) {
	s.nextUntil("150 IDs and a renewal", func() bool { return s.ids >= 150 && s.usesRenewal() })
}

func playZero(s *scene) {
	s.on(func(*call) answer {
		return answer{hold: func(ctx context.Context) { wait(ctx, 200*time.Millisecond) }}
	})
	s.nextUntil("IDs beyond the first grant", s.usesRenewal)
}

func playLostRenewal(s *scene) {
	const lost = 3
	s.on(func(c *call) answer { return answer{dropped: c.renew != nil && c.n <= lost} })
	s.nextUntil("a renewal that names the attempts of three others", func() bool {
		return s.countCalls("Renew") > lost && s.usesRenewal()
	})
}

func playLostAcquire(s *scene) {
	s.on(func(c *call) answer { return answer{dropped: c.acquire != nil && c.n <= 2} })
	s.nextUntil("an ID after the third Acquire", func() bool { return s.madeAbove(0) })
}

// damages are bodies that are no answer.
var damages = []func(w http.ResponseWriter){
	func(w http.ResponseWriter) { http.Error(w, "no healthy upstream", http.StatusBadGateway) },
	func(w http.ResponseWriter) { http.Error(w, `{"code":"internal"`, http.StatusInternalServerError) },
	func(w http.ResponseWriter) { text(w, "text/html", "<html><body>Please log in</body></html>") },
	func(w http.ResponseWriter) { text(w, "application/json", `{"namespace":"conform","node":"7","fro`) },
	func(w http.ResponseWriter) { text(w, "application/json", `{}`) },
	func(w http.ResponseWriter) { // no ticket
		text(w, "application/json", `{"layout":"default","node":"1","until":"9","renew_after":"1s"}`)
	},
	func(w http.ResponseWriter) { text(w, "application/json", "") },
	func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) },
	func(w http.ResponseWriter) { http.Error(w, "no such page", http.StatusNotFound) },
	func(w http.ResponseWriter) { http.Error(w, "busy", http.StatusConflict) },
	func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000") // and the connection breaks
		text(w, "application/json", `{"node":"1",`)
		panic(http.ErrAbortHandler)
	},
}

func text(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, body) // the client may be gone
}

func playDamaged(s *scene) {
	bad := append(slices.Clone(damages), s.redirectTo(http.StatusFound), s.redirectTo(http.StatusTemporaryRedirect))
	s.on(func(c *call) answer {
		switch {
		case c.renew == nil || c.n > len(bad)+1:
			return answer{}
		case c.n <= len(bad):
			return answer{bytes: bad[c.n-1]}
		}
		return answer{fail: unavailable}
	})
	s.nextUntil("IDs after all damaged answers", func() bool {
		g := s.judge.latestGrant()
		return s.countCalls("Renew") > len(bad)+1 && g.until > g.first && s.madeAbove(g.first)
	})
}

// redirectTo sends a client to a place that must not get its ticket.
func (s *scene) redirectTo(status int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Location", "http://"+s.proxy.listen.Addr().String()+otherPlace)
		w.WriteHeader(status)
	}
}

func playOutage(s *scene) {
	if !s.nextUntil("IDs beyond the first grant", s.usesRenewal) {
		return
	}
	s.away.Store(true)
	ended := func() bool { return s.tickAhead(-500*time.Millisecond) > s.judge.latestGrant().until }
	if !s.nextUntil("the end of the grant", ended) {
		return
	}
	s.away.Store(false)
	end := s.judge.latestGrant().until
	s.nextUntil("IDs after the server was back", func() bool { return s.madeAbove(end) })
}

func playLate(s *scene) {
	s.on(func(c *call) answer {
		if c.renew == nil || c.n > 1 {
			return answer{}
		}
		end := s.presentLayout().TimeOf(s.judge.latestGrant().until)
		return answer{hold: func(ctx context.Context) { wait(ctx, time.Until(end)+500*time.Millisecond) }}
	})
	s.nextUntil("an ID after the answer", func() bool {
		return s.countCalls("Renew") > 1 && s.madeAbove(s.judge.grantOf(0).first)
	})
}

func playEmpty(s *scene) {
	s.on(func(c *call) answer {
		return answer{change: func(l *pb.Lease) {
			if c.acquire != nil && c.n == 1 {
				l.Until = l.From
			}
		}}
	})
	s.nextUntil("an ID after a renewal", func() bool { return s.madeAbove(0) })
}

func playRepeated(s *scene) {
	var first atomic.Pointer[pb.Lease]
	s.on(func(c *call) answer {
		if c.renew == nil || c.n > 2 {
			return answer{}
		}
		return answer{change: func(l *pb.Lease) {
			if c.n == 1 {
				first.Store(&pb.Lease{Ticket: l.Ticket, From: l.From, Until: l.Until})
			} else if was := first.Load(); was != nil {
				l.Ticket, l.From, l.Until = was.Ticket, was.From, was.Until
			}
		}}
	})
	s.nextUntil("IDs after the repeated answer", func() bool {
		end := s.judge.grantOf(0).until
		return s.countCalls("Renew") > 2 && s.tickAhead(0) > end && s.madeAbove(end)
	})
}

// wait waits for a time, or until the client hangs up.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
