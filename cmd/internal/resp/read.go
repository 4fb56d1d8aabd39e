package resp

import (
	"errors"
	"net"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// shrinkAfter is how long a client has to be silent until its buffers are
// small again: the buffers of ten thousand clients that each sent a large
// pipeline once would be a gigabyte.
const shrinkAfter = 2 * time.Second

// lookEvery is how often a silent client's rights are looked at: its token
// may have been taken away, or have ended.
const lookEvery = time.Minute

// deadlines has the next event of a connection, and its time limit.
type deadlines struct {
	current time.Time // as it was set
	partial time.Time // by when the rest of a command has to be there; zero when none has begun
	auth    time.Time // when the client has to identify itself at the latest; zero while it has rights
	large   bool      // the buffers are, and until is when they need not be any more
}

// readMore waits for more and reports whether there is any. now may be a
// moment ago.
func (c *conn) readMore(now time.Time) bool {
	carried := c.r > 0
	c.makeRoom()
	if c.w == len(c.buf) {
		c.out = appendError(c.out, server.TooMuch.Word(), "too many long commands are on their way: send it again")
		c.flushReplies(now)
		return false
	}
	if c.srv.life.Err() == nil && c.readOn(now, carried) {
		return true
	}
	return c.srv.life.Err() != nil && c.readLast()
}

// makeRoom makes room in the buffer for more bytes.
func (c *conn) makeRoom() {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		c.growBuffer()
	}
}

// readLast reads commands when the server stops, and reports whether there
// are any. To close the connection before they are read would reset it, and
// take replies away.
func (c *conn) readLast() bool {
	now, l := time.Now(), c.srv.last
	if c.leaves.IsZero() {
		c.leaves = now.Add(l.runTime)
	}
	c.refuses = now.After(c.leaves)
	until := earliest(now.Add(l.silence), c.leaves.Add(l.refuseTime))
	for c.w < len(c.buf) && time.Now().Before(until) && c.c.SetReadDeadline(until) == nil {
		n, err := c.c.Read(c.buf[c.w:])
		c.w += n
		if n > 0 {
			return true
		}
		var timeout net.Error // Shutdown may have set its own deadline a moment ago
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			return false
		}
	}
	return false
}

// readOn reads until bytes come, and reports whether any came. carried
// means that commands were carried out before.
func (c *conn) readOn(now time.Time, carried bool) bool {
	for c.setReadDeadline(now, carried) {
		n, err := c.c.Read(c.buf[c.w:])
		c.w += n
		// A full buffer means that more is coming. Larger reads wake the
		// client less often.
		if c.w == len(c.buf) && len(c.buf) < mostBuffer {
			c.growBuffer()
		}
		if n > 0 {
			return true // an error will come again
		}
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || c.srv.life.Err() != nil {
			return false
		}
		now, carried = time.Now(), false
		// A deadline that is not ours is of a handshake.
		if until := c.deadlines.current; until.IsZero() || now.Before(until) || !c.handleExpiry(now) {
			return false
		}
	}
	return false
}

func (c *conn) growBuffer() {
	if !c.room.takeBuffers(c) {
		return
	}
	grown := make([]byte, min(4*len(c.buf), mostBuffer))
	copy(grown, c.buf[:c.w])
	c.buf = grown
}

// setReadDeadline sets the deadline of the next read, and reports whether
// to read. carried says that commands were carried out since it was called
// last.
func (c *conn) setReadDeadline(now time.Time, carried bool) bool {
	w, cfg := &c.deadlines, &c.srv.cfg
	known := c.id.Sees("")
	// Setting a deadline costs as much as a small reply, so one covers
	// several reads.
	if c.w == 0 && known && w.partial.IsZero() && w.auth.IsZero() && c.isLarge() == w.large &&
		w.current.Sub(now) > shrinkAfter {
		return true
	}
	now = time.Now() // it may have been a moment ago
	switch {
	case c.w == 0:
		w.partial = time.Time{}
	// Otherwise the first deadline stands: a byte now and then does not
	// move it.
	case carried, w.partial.IsZero():
		w.partial = now.Add(cfg.Slow)
	}
	switch {
	case known:
		w.auth = time.Time{}
	case w.auth.IsZero():
		w.auth = now.Add(cfg.Slow) // whatever it says meanwhile
	}
	w.large = c.w == 0 && c.isLarge()
	until := earliest(w.partial, w.auth, now.Add(max(lookEvery, cfg.Slow)))
	if w.large {
		until = earliest(until, now.Add(2*shrinkAfter))
	}
	if !until.Equal(w.current) {
		w.current = until
		if c.c.SetReadDeadline(until) != nil {
			return false
		}
	}
	return c.srv.life.Err() == nil // Shutdown may have set its own deadline a moment ago
}

// isLarge reports whether an idle client would do with smaller buffers.
func (c *conn) isLarge() bool {
	return len(c.buf) > firstBuffer || cap(c.out) > firstBuffer || c.room.buffers != nil || c.room.queue != nil
}

// handleExpiry acts when nothing came until the deadline, and reports
// whether to go on waiting.
func (c *conn) handleExpiry(now time.Time) bool {
	over := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	w := &c.deadlines
	switch {
	case over(w.partial):
		c.out = appendError(c.out[:0], "ERR", "the rest of the command did not come in time")
		c.flushReplies(now)
		return false
	case over(w.auth):
		c.out = appendError(c.out[:0], "NOAUTH", "no AUTH came in time")
		c.flushReplies(now)
		return false
	}
	if c.w == 0 && c.isLarge() {
		c.buf, c.out = make([]byte, firstBuffer), make([]byte, 0, firstBuffer)
		c.args, c.lastCommand, c.ids, c.numbers = nil, nil, nil, nil // args are parts of the buffer
		if !c.queue.open {
			c.room.giveBack()
		}
	}
	return true
}

// earliest returns the earliest of some times that are not zero.
func earliest(times ...time.Time) (least time.Time) {
	for _, t := range times {
		if least.IsZero() || !t.IsZero() && t.Before(least) {
			least = t
		}
	}
	return least
}
