package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
)

// Managed logs an action of somebody who manages: who, from where, what, and the result.
func (s *Service) Managed(w Wire, q Request, err error) {
	attrs := []slog.Attr{slog.String("result", "done")}
	if err != nil {
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

type actorKey struct{}

// WithActor returns a context that names who manages, for events.
func WithActor(ctx context.Context, q Request) context.Context {
	who := cmp.Or(q.Certificate, q.Caller)
	if who == "" || who == anybody { // then the address is all that is known
		if host, _, err := net.SplitHostPort(q.From); err == nil {
			who = host
		}
	}
	return context.WithValue(ctx, actorKey{}, who)
}

// actorOf returns the name that WithActor gave; "" is the server itself.
func actorOf(ctx context.Context) string {
	who, _ := ctx.Value(actorKey{}).(string)
	return who
}
