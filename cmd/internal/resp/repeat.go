package resp

import (
	"bytes"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Clients say the same thing again and again, and in pipelines many times at once. A
// command for one ID whose own bytes come next is not parsed and looked up once more: it
// is counted how often they come, and the IDs are made together, with one step of the
// generator for all of them.
//
// same is always the bytes of the command that was carried out last, and space its
// namespace: whatever is parsed clears it.
const (
	maxRemembered = 128 // bytes of a command that is remembered
	maxRepeats    = 64  // IDs
)

// rememberCommand keeps the bytes of a command for one ID that was carried out.
func (c *conn) rememberCommand(raw []byte) {
	if len(raw) <= maxRemembered {
		c.lastCommand = append(c.lastCommand, raw...)
	}
}

// repeat carries out the commands that come next and are the remembered one, and reports
// whether there were any. What it cannot do at once it leaves to be parsed, so that
// errors are told in one place.
func (c *conn) repeat() bool {
	if len(c.lastCommand) == 0 {
		return false
	}
	n := 0
	for rest := c.buf[c.r:c.w]; n < maxRepeats && bytes.HasPrefix(rest, c.lastCommand); n++ {
		rest = rest[len(c.lastCommand):]
	}
	sp := c.space
	if n == 0 || sp.Stale() || c.id.May(server.VerbIDs, sp.Name) != nil || c.id.Limited() {
		return false
	}
	if c.ids == nil {
		c.ids = make([]snowfence.ID, maxRepeats)
	}
	n, err := sp.Fill(c.srv.life, c.ids[:n])
	c.r += n * len(c.lastCommand)
	c.commands += int64(n)
	c.madeIDs += int64(n)
	for _, id := range c.ids[:n] {
		c.out = appendID(c.out, id)
	}
	return n > 0 && err == nil
}
