package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
)

// Managed logs an action of a manager: who, from where, what, and the result. Callers
// without a token are in the line about refused requests, once a minute.
func (s *Service) Managed(w Wire, q Request, err error) {
	attrs := []slog.Attr{slog.String("result", "done")}
	if err != nil {
		if KindOf(err) == Anonymous {
			return
		}
		attrs = []slog.Attr{slog.String("result", KindOf(err).Name()), slog.Any("cause", err)}
	}
	s.logRequest(slog.LevelInfo, "managed", w, 0, q, attrs...)
}

// CertificateName is what the log calls the holder of a client certificate; "" without one.
func CertificateName(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return ""
	}
	return Clip(chain[0].Subject.String())
}

// Caller is who makes a request, and what the service says of it beside the answer.
type Caller struct {
	*Identity          // nil is an unknown caller
	From        string // address of the client
	Certificate string // subject of the client's; "" without one
	Made        bool   // set by the service: the request made what it asked for
}

// Identify returns who makes a request.
type Identify func(r *http.Request) (*Identity, error)

// Caller returns the caller of a request, who is unknown after an error.
func (who Identify) Caller(r *http.Request) (*Caller, error) {
	id, err := who(r)
	if err != nil {
		id = nil
	}
	c := &Caller{Identity: id, From: r.RemoteAddr}
	if r.TLS != nil {
		c.Certificate = CertificateName(r.TLS.PeerCertificates)
	}
	return c, err
}

type callerKey struct{}

// WithCaller returns the context of a request.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who makes a request, if the context says.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// Request returns what the log says of the caller.
func (c *Caller) Request(name string) Request {
	q := Request{Name: Clip(name), From: c.From, Certificate: c.Certificate}
	if c.Identity != nil {
		q.Caller = c.Name
	}
	return q
}

// actorOf returns who manages, for events; "" is the server itself.
func actorOf(ctx context.Context) string {
	c := CallerOf(ctx)
	q := c.Request("")
	who := cmp.Or(q.Certificate, q.Caller)
	if who == "" || who == anybody { // then the address is all that is known
		if host, _, err := net.SplitHostPort(q.From); err == nil {
			who = host
		}
	}
	return who
}
