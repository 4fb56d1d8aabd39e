package resp

import (
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

func (c *conn) serve() {
	defer c.c.Close()
	defer c.room.giveBack()
	c.buf = make([]byte, firstBuffer)
	c.out = make([]byte, 0, firstBuffer)
	for !c.quit {
		began := time.Now()
		if c.w > 0 && !c.triedAuth { // the client of TLS has shown its certificate
			c.identify(began)
		}
		wrong := c.runCommands()
		if wrong != nil {
			c.out = appendError(c.out, "ERR", wrong.Error())
			c.quit = true
		}
		ran := c.countCommands()
		// Other connections with commands come first: replies that go out
		// together wake a client on another processor once, where each
		// alone would wake it anew. At 16 commands a pipeline that is a
		// third more commands a second.
		runtime.Gosched()
		there := c.flushReplies(time.Now()) // commands may have waited for the store
		if ran > 0 {
			about := func() server.Request { return c.requestInfo(strconv.FormatInt(ran, 10) + " commands") }
			// All of them were answered at the end.
			c.srv.cfg.Service.Answered(server.RESP, ran, time.Since(began), about)
		}
		if wrong != nil {
			c.discardRest()
		}
		if !there || c.quit || !c.readMore(began) {
			return
		}
	}
}

// discardRest reads what a client still sends for a moment: a connection
// that is closed with unread bytes is reset, and the error lost.
func (c *conn) discardRest() {
	if half, ok := c.c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, c.c, 64<<10)
	}
}

// runCommands carries out all whole commands that have come in. An error is
// one of the protocol.
func (c *conn) runCommands() error {
	for !c.quit {
		if !c.refuses && c.repeatLast() {
			c.flushFull()
			continue
		}
		args, n, err := parse(c.buf[c.r:c.w], c.args[:0])
		c.args = args
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		raw := c.buf[c.r : c.r+n]
		c.r += n
		if len(args) == 0 {
			continue
		}
		c.commands++
		c.lastCommand = c.lastCommand[:0]
		if c.refuses {
			c.out = appendError(c.out, server.Unavailable.Word(), server.ErrStopping.Error())
		} else if c.runCommand(args, raw) {
			c.rememberCommand(raw)
		}
		c.flushFull()
	}
	return nil
}

// countCommands adds to the counters that everybody shares, once for all
// commands that came together, and returns their number.
func (c *conn) countCommands() (ran int64) {
	ran, c.commands = c.commands, 0
	if ran > 0 {
		c.srv.Requests.Add(ran)
	}
	return ran
}

// runCommand carries out one command, and reports whether it gave one ID or
// number. If so, repeat makes the numbers of equal commands that follow it,
// and they come neither here nor to next.
func (c *conn) runCommand(args [][]byte, raw []byte) bool {
	switch {
	case c.queue.open:
	case len(args[0]) == len("SNOWFENCE.NEXT") && equalFold(args[0], "SNOWFENCE.NEXT"):
		c.lastTook = ids
		return c.next(args)
	case len(args[0]) == len("INCR") && len(args) == 2 && equalFold(args[0], "INCR"):
		c.lastTook = numbers
		return c.takeNumbers(args[1], 1)
	}
	cmd := c.srv.findCommand(args[0])
	fine := false
	switch {
	case cmd == nil:
		// A page in a browser makes it talk HTTP to this port.
		if equalFold(args[0], "POST") || equalFold(args[0], "HOST:") {
			c.writeError("this is not HTTP")
			c.quit = true
			return false
		}
		why := noSuchCommand(server.Clip(args[0]))
		if why == "" {
			why = "COMMAND lists all"
		}
		c.writeError("unknown command '" + server.Clip(args[0]) + "': " + why)
	case cmd.arity > 0 && len(args) != cmd.arity, len(args) < -cmd.arity:
		c.writeError("wrong number of arguments for '" + strings.ToLower(cmd.name) + "' command")
	case c.id == nil && !cmd.anonymous:
		c.noAuth()
	case c.queue.open && !cmd.atOnce:
		fine = c.queueCommand(cmd, raw)
	default:
		cmd.run(c, args)
		fine = true
	}
	c.queue.hasRefusal = c.queue.open && (c.queue.hasRefusal || !fine)
	return false
}
