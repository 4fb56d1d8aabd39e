package resp

import (
	"bytes"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Clients repeat commands, and pipelines do so many times at once. A
// command for one ID or number that comes again byte for byte is only
// counted, not parsed again. The IDs are made together, in one step of the
// generator.
//
// lastCommand has the bytes of the last command, and space its namespace,
// or counter its sequence. Each parsed command clears it.
const (
	maxRemembered = 128 // bytes of a command that is remembered
	maxRepeats    = 64  // IDs
)

// rememberCommand keeps the bytes of a command for one ID or number that
// was carried out.
func (c *conn) rememberCommand(raw []byte) {
	if len(raw) <= maxRemembered {
		c.lastCommand = append(c.lastCommand, raw...)
	}
}

// repeatLast carries out the next commands that equal the remembered one,
// and reports whether there were any. It leaves others to be parsed, so
// that errors are told in one place.
func (c *conn) repeatLast() bool {
	if len(c.lastCommand) == 0 {
		return false
	}
	want := 0
	for rest := c.buf[c.r:c.w]; want < maxRepeats && bytes.HasPrefix(rest, c.lastCommand); want++ {
		rest = rest[len(c.lastCommand):]
	}
	if want == 0 {
		return false
	}
	n := 0
	if c.lastTook == ids {
		n = c.repeatIDs(want)
	} else {
		n = c.repeatNumbers(want)
	}
	c.r += n * len(c.lastCommand)
	c.commands += int64(n)
	return n == want
}

// repeatIDs makes the IDs of n more commands like the last one, and returns
// how many it made.
func (c *conn) repeatIDs(n int) int {
	sp := c.space
	if sp.Stale() || c.id.May(server.VerbIDs, sp.Name) != nil || c.id.Limited() {
		return 0
	}
	if c.ids == nil {
		c.ids = make([]snowfence.ID, maxRepeats)
	}
	n, _ = sp.Fill(c.srv.life, c.ids[:n])
	c.id.Count(int64(n))
	for _, id := range c.ids[:n] {
		c.out = appendID(c.out, id)
	}
	return n
}

// repeatNumbers takes the numbers of n more commands like the last one, and
// returns how many of them it answered. It leaves others to be parsed, so
// that errors are told in one place.
func (c *conn) repeatNumbers(n int) int {
	last := &c.counter
	if last.seq == nil || c.id.May(server.VerbIDs, last.name) != nil || c.id.Limited() {
		return 0
	}
	if c.numbers == nil {
		c.numbers = make([]int64, maxRepeats)
	}
	n, _ = last.seq.Fill(c.srv.life, last.period, c.numbers[:n])
	c.id.Count(int64(n))
	for _, number := range c.numbers[:n] {
		c.out = appendInt(c.out, number)
	}
	return n
}
