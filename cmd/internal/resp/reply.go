package resp

import (
	"context"
	"errors"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

func (c *conn) writeError(text string) { c.out = appendError(c.out, "ERR", text) }

func (c *conn) noAuth() {
	c.countRefused("a token is needed")
	c.out = appendError(c.out, "NOAUTH", "Authentication required.")
}

// countRefused counts a command that was refused for its sender's rights.
func (c *conn) countRefused(why string) {
	err := server.Errorf(server.Anonymous, "%s", why)
	c.srv.cfg.Service.Failed(server.RESP, err, func() server.Request {
		return c.requestInfo(strings.ToUpper(server.Clip(c.args[0])))
	})
}

// requestInfo has the log's fields of a request.
func (c *conn) requestInfo(name string) server.Request {
	q := server.Request{
		Name: name, From: c.c.RemoteAddr().String(), Certificate: server.CertificateName(c.certificates()),
	}
	if c.id != nil {
		q.Caller = c.id.Name
	}
	return q
}

func (c *conn) writeFailure(err error) {
	if c.srv.life.Err() != nil && errors.Is(err, context.Canceled) {
		err = server.ErrStopping // by us, not by the client
	}
	kind := c.srv.cfg.Service.Failed(server.RESP, err, func() server.Request {
		q := c.requestInfo(strings.ToUpper(server.Clip(c.args[0])))
		if len(c.args) > 1 {
			q.Namespace = server.Clip(c.args[1]) // no other command fails by an error of the service
		}
		return q
	})
	c.out = appendError(c.out, kind.Word(), err.Error())
}

// caller returns the sender of a command, which may reserve room.
func (c *conn) caller() *server.Caller {
	return &server.Caller{Identity: c.id, From: c.c.RemoteAddr().String()}
}

// equalFold compares an argument with a word in upper case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
