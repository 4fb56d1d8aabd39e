package resp

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"runtime"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Buffers begin small, because most connections are idle most of the time,
// and grow with what comes in at once.
const (
	firstBuffer = 1 << 10
	mostBuffer  = 64 << 10
	flushAt     = 32 << 10 // of replies
)

// conn is one client. Its goroutine reads the bytes that came, carries out
// all whole commands, and sends the replies together: that makes pipelines
// cheap.
type conn struct {
	srv    *Server
	c      net.Conn
	number int64
	name   string
	proto  version
	id     *server.Identity // nil while the client has not said who it is
	user   *server.Identity // of a socket of an agent; nil elsewhere
	place  *server.Place

	room        room   // for what is larger than the first buffers
	buf         []byte // buf[r:w] has come in and is not carried out
	r, w        int
	out         []byte
	args        [][]byte
	lastCommand []byte         // a command for one ID or number, see repeatLast
	lastTook    repeatable     // what it took
	ids         []snowfence.ID // made together
	numbers     []int64        // taken together
	queue       queue          // since MULTI

	space     *server.Space // of the last command
	counter   counter       // of the last command for a sequence
	commands  int64         // commands that are not counted yet
	triedAuth bool          // AUTH was tried, so the certificate does not count
	wrong     int           // tokens that were
	judge     judgement     // of the certificate
	leaves    time.Time     // from then on its commands are refused, because the server stops
	refuses   bool          // its commands are refused now
	quit      bool

	writeDeadlineSet time.Time // when the deadline of writes was last set
	deadlines        deadlines
}

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
		if err := c.runCommands(); err != nil {
			c.out = appendError(c.out, "ERR", err.Error())
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
		if !there || c.quit || !c.readMore(began) {
			return
		}
	}
}

// judgement has the judge of a client's certificate, and the time until
// which the judgement counts.
type judgement struct {
	by   *server.Auth
	ends time.Time // zero means never
}

// identify identifies a client that sent no token. It judges a certificate
// again after the tokens were read again, and after the certificate ended.
// Over HTTP each request does so.
func (c *conn) identify(now time.Time) {
	auth := c.srv.cfg.Auth()
	if c.user != nil || auth == c.judge.by && (c.judge.ends.IsZero() || !now.After(c.judge.ends)) {
		return
	}
	chain := c.certificates()
	if c.id, c.judge.by = auth.Unnamed(chain), auth; c.id != nil {
		c.claimPlace()
	}
	if len(chain) > 0 {
		c.judge.ends = chain[0].NotAfter
	}
}

// claimPlace counts the connection for the client's token. A client has to
// go when its token has its share.
func (c *conn) claimPlace() bool {
	err := c.place.Claim(c.id)
	if err != nil {
		c.id, c.quit = nil, true
		c.out = appendError(c.out, server.TooMuch.Word(), err.Error())
	}
	return err == nil
}

// certificates returns the certificates of a client of TLS that has shown
// some.
func (c *conn) certificates() []*x509.Certificate {
	if t, ok := c.c.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return t.ConnectionState().PeerCertificates
	}
	return nil
}

// runCommands carries out all whole commands that have come in. An error is
// one of the protocol.
func (c *conn) runCommands() error {
	for !c.quit {
		if !c.refuses && c.repeatLast() {
			if len(c.out) > firstBuffer && c.isFull() && !c.flushReplies(time.Now()) {
				c.quit = true
			}
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
		if len(c.out) > firstBuffer && c.isFull() && !c.flushReplies(time.Now()) {
			c.quit = true
		}
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

// flushReplies sends the replies and reports whether the client is still
// there.
func (c *conn) flushReplies(now time.Time) bool {
	if len(c.out) == 0 {
		return true
	}
	// One deadline covers the writes of a second: setting it costs as much
	// as a small reply.
	if now.Sub(c.writeDeadlineSet) > time.Second {
		c.writeDeadlineSet = now
		if c.c.SetWriteDeadline(now.Add(c.srv.cfg.Slow+time.Second)) != nil {
			return false
		}
	}
	_, err := c.c.Write(c.out)
	if cap(c.out) > mostBuffer {
		c.out = make([]byte, 0, firstBuffer) // a large answer is rare
	}
	c.out = c.out[:0]
	return err == nil
}

// isFull reports whether there are as many replies as go out together.
func (c *conn) isFull() bool { return len(c.out) >= flushAt || !c.room.takeBuffers(c) }
