package server

import (
	"context"
	"crypto/x509"
	"net/http"
)

// Caller is the sender of a request, and the service's facts of it beside
// the answer.
type Caller struct {
	*Identity          // nil is an unknown caller
	From        string // address of the client
	Certificate string // subject of the client's; "" without one
	Token       string // the header Authorization as it came, to pass a renewal on with
	Forwarded   bool   // another server passed the request on: it goes no further
	Made        bool   // set by the service: the request made what it asked for

	room []reservation // until the request ends
}

// CertificateName is the log's name of the holder of a client certificate;
// "" without one.
func CertificateName(chain []*x509.Certificate) string {
	if len(chain) == 0 {
		return ""
	}
	return Clip(chain[0].Subject.String())
}

// Identify returns the identity of a request's sender.
type Identify func(r *http.Request) (*Identity, error)

// Caller returns the caller of a request, an unknown one after an error.
func (who Identify) Caller(r *http.Request) (*Caller, error) {
	id, err := who(r)
	if err != nil {
		id = nil
	}
	c := &Caller{
		Identity: id, From: r.RemoteAddr, Token: r.Header.Get("Authorization"),
		Forwarded: r.Header.Get(ForwardedHeader) != "",
	}
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

// CallerOf returns the sender of a request, if the context has one.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// Request returns the log's fields of the caller.
func (c *Caller) Request(name string) Request {
	q := Request{Name: Clip(name), From: c.From, Certificate: c.Certificate}
	if c.Identity != nil {
		q.Caller = c.Name
	}
	return q
}
