package resp

import (
	"time"

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
	*end, err = c.srv.cfg.Service.Begin(c.place, c.id, server.BufferRoom)
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

// flushFull sends the replies if there are as many as go out together.
func (c *conn) flushFull() {
	full := len(c.out) > firstBuffer && (len(c.out) >= flushAt || !c.room.takeBuffers(c))
	if full && !c.flushReplies(time.Now()) {
		c.quit = true
	}
}

// ended gives the room of a large reply back, after it has gone.
func (c *conn) ended(of *server.Caller) {
	c.flushFull()
	c.srv.cfg.Service.Ended(of)
}
