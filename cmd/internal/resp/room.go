package resp

import (
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// room is a connection's share of the server's room, until it is idle or
// ends. A connection without it goes on in small pieces.
type room struct{ buffers, queue func() } // give it back; nil where there is none

func (r *room) takeBuffers(c *conn) bool { return take(c, &r.buffers) }

func (r *room) takeQueue(c *conn) bool { return take(c, &r.queue) }

func take(c *conn, end *func()) bool {
	if *end != nil {
		return true
	}
	var err error
	*end, err = c.srv.cfg.Service.Begin(c.place, server.BufferRoom)
	return err == nil
}

func (r *room) giveBack() {
	for _, end := range []func(){r.buffers, r.queue} {
		if end != nil {
			end()
		}
	}
	*r = room{}
}

// isFull reports whether there are as many replies as go out together.
func (c *conn) isFull() bool { return len(c.out) >= flushAt || !c.room.takeBuffers(c) }
