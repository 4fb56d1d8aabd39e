package resp

import (
	"crypto/tls"
	"crypto/x509"
	"net"
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

// judgement has the judge of a client's certificate, and the time until
// which the judgement counts.
type judgement struct {
	by   *server.Auth
	ends time.Time // zero means never
}

// queue has the commands since MULTI.
type queue struct {
	open       bool // MULTI came, and neither EXEC nor DISCARD
	hasRefusal bool // a command was refused, so that EXEC carries out nothing
	n          int
	raw        []byte // the commands as they came
}

// counter is the sequence of the last INCR.
type counter struct {
	text []byte // of its key, as it came
	key
	seq *server.Sequence // nil before any
}

// repeatable is the kind of thing that a repeatable command takes.
type repeatable int

const (
	ids repeatable = iota
	numbers
)

// certificates returns the certificates of a client of TLS that has shown
// some.
func (c *conn) certificates() []*x509.Certificate {
	if t, ok := c.c.(secure); ok {
		return t.ConnectionState().PeerCertificates
	}
	return nil
}

// secure is a connection of TLS.
type secure interface{ ConnectionState() tls.ConnectionState }

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
