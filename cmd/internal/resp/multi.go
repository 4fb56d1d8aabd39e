package resp

import (
	"strconv"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A client may queue commands between MULTI and EXEC, as pipelines of
// redis-py do by themselves. They are carried out in their order when EXEC
// comes. There is nothing to make atomic: a number that one of them takes
// is no other client's.
const (
	maxQueued     = 1000
	maxQueueBytes = 128 << 10
)

// queueCommand keeps a command for EXEC, and reports whether it could.
func (c *conn) queueCommand(cmd *command, raw []byte) bool {
	q := &c.queue
	switch {
	case !cmd.isQueueable:
		c.writeError(cmd.name + " does not go into MULTI: send it before or after")
	case len(q.raw) > firstBuffer && !c.room.takeQueue(c):
		c.out = appendError(c.out, server.TooMuch.Word(), "too many long transactions are on their way: "+
			"send fewer commands in MULTI, or a pipeline")
	case q.n == maxQueued || len(q.raw)+len(raw) > maxQueueBytes:
		c.writeError("more than " + strconv.Itoa(maxQueued) + " commands in MULTI: " +
			"send fewer, or a pipeline without MULTI")
	default:
		q.n++
		q.raw = append(q.raw, raw...)
		c.out = appendSimple(c.out, "QUEUED")
		return true
	}
	return false
}

func multi(c *conn, _ [][]byte) {
	if c.queue.open {
		c.writeError("MULTI calls can not be nested")
		return
	}
	c.queue.open = true
	c.out = appendSimple(c.out, "OK")
}

func discard(c *conn, _ [][]byte) {
	if !c.queue.open {
		c.writeError("DISCARD without MULTI")
		return
	}
	c.queue = queue{}
	c.out = appendSimple(c.out, "OK")
}

// exec carries out the queue. Each command has its reply, also one that
// fails.
func exec(c *conn, _ [][]byte) {
	q := c.queue
	c.queue = queue{}
	switch {
	case !q.open:
		c.writeError("EXEC without MULTI")
		return
	case q.hasRefusal:
		c.out = appendError(c.out, "EXECABORT", "Transaction discarded because of previous errors.")
		return
	}
	c.out = appendArray(c.out, q.n)
	buf, r, w, commands := c.buf, c.r, c.w, c.commands
	c.buf, c.r, c.w = q.raw, 0, len(q.raw)
	_ = c.runCommands()                               // they were parsed before, and so have no error of the protocol
	c.buf, c.r, c.w, c.commands = buf, r, w, commands // they were counted when they came
	c.lastCommand = c.lastCommand[:0]
}
