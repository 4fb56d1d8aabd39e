package main

import (
	"bytes"
	"regexp"
	"slices"
	"time"
)

var attemptForm = regexp.MustCompile(`^[A-Za-z0-9_-]{16,32}$`)

// mostElsewhere is how many answers with the place of a lease may get lost.
const mostElsewhere = 5

// mostEarlier is how many attempts a request names.
const mostEarlier = 64

// judgeCall judges a call of the client.
func (j *judge) judgeCall(c *call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[c.method]++
	c.n = j.counts[c.method]
	switch {
	case c.acquire != nil:
		j.askedAcquire(c)
	case c.renew != nil:
		j.askedRenew(c)
	default:
		j.askedRelease(c)
	}
}

// newAttempt judges the attempt of a request, and the earlier ones that it
// names.
func (j *judge) newAttempt(method, attempt string, earlier, unanswered []string) {
	if !attemptForm.MatchString(attempt) {
		j.noteFinding("%s with the attempt %.40q: it has 16 to 32 of A to Z, a to z, 0 to 9, - and _", method, attempt)
	}
	if j.attempts[attempt] {
		j.noteFinding("%s with the attempt of a call before", method)
	}
	j.attempts[attempt] = true
	for _, a := range unanswered[max(len(unanswered)-mostEarlier, 0):] {
		if !slices.Contains(earlier, a) {
			j.noteFinding("%s does not name an attempt that had no answer as earlier", method)
		}
	}
}

func (j *judge) askedAcquire(c *call) {
	m, now := c.acquire, time.Now()
	if c.n > 1 || m.Attempt != "" {
		j.newAttempt("Acquire", m.Attempt, m.Earlier, j.openAttempts)
	}
	for _, g := range j.grants {
		switch {
		case g.lost:
			if g.lostKnown.IsZero() {
				g.lostKnown = now
			}
		case g.over == "" && g.elsewhere == 0 && now.Before(j.scheme.Layout().TimeOf(g.until)) && g.until > g.from:
			j.noteFinding("Acquire while the lease of node %d is not lost, and its grant has not ended", g.node)
		}
	}
	if n := len(j.grants); n > 0 && j.grants[n-1].lost {
		g := j.grants[n-1]
		if !bytes.Equal(m.Lost, g.tickets[len(g.tickets)-1]) {
			j.noteFinding("Acquire after a loss without the last ticket as lost")
		}
		if !m.Free {
			j.noteFinding("Acquire after a loss without free")
		}
	}
}

func (j *judge) askedRenew(c *call) {
	m := c.renew
	g := j.grantOfTicket(m.Ticket)
	if g == nil {
		j.noteFinding("Renew with a ticket that it never got")
		return
	}
	now := time.Now()
	switch last := g.tickets[len(g.tickets)-1]; {
	case bytes.Equal(last, m.Ticket):
	case slices.Contains(m.Earlier, g.attempt): // it hung up before the answer with the last ticket came
		g.tickets, g.openAttempts = append(g.tickets, m.Ticket), append(g.openAttempts, g.attempt)
	default:
		j.noteFinding("Renew with a ticket that is not the last one of its lease")
	}
	j.newAttempt("Renew", m.Attempt, m.Earlier, g.openAttempts)
	if g.over != "" {
		j.noteFinding("Renew of a lease that is over: %s", g.over)
	}
	if g.elsewhere > mostElsewhere {
		j.noteFinding("Renew with a ticket that is elsewhere, or invalid, as %d answers said", g.elsewhere)
	}
	if g.lost && g.lostKnown.IsZero() && !slices.Contains(m.Earlier, g.lostBy) {
		g.lostKnown = now // one that had not got the answer would name its attempt
	}
}

func (j *judge) askedRelease(c *call) {
	m := c.release
	g := j.grantOfTicket(m.Ticket)
	if g == nil {
		j.noteFinding("Release with a ticket that it never got")
		return
	}
	if m.Used != nil && *m.Used <= g.highest {
		j.noteFinding("Release says that ticks from %d on are unused, and tick %d was stamped", *m.Used, g.highest)
	}
	if !g.lost {
		g.over = "it was given back"
	}
}

// noteUnanswered notes that a call got no answer.
func (j *judge) noteUnanswered(c *call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leftOpen(c)
}

func (j *judge) leftOpen(c *call) {
	switch {
	case c.acquire != nil && c.acquire.Attempt != "":
		j.openAttempts = append(j.openAttempts, c.acquire.Attempt)
	case c.renew != nil:
		if g := j.grantOfTicket(c.renew.Ticket); g != nil {
			g.openAttempts = append(g.openAttempts, c.renew.Attempt)
		}
	}
}

// noteFailure notes an error that the client gets.
func (j *judge) noteFailure(c *call, f *failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.renew == nil || f == nil {
		return
	}
	g := j.grantOfTicket(c.renew.Ticket)
	switch {
	case g == nil:
	case f.endsLease():
		if !g.lost {
			g.lost, g.lostBy, g.lostAt = true, c.renew.Attempt, time.Now()
		}
	case f.reason == elsewhere.reason, f.reason == invalid.reason:
		g.elsewhere++
	default:
		j.leftOpen(c) // it may have been carried out
	}
}
