package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/dashboard"
	"github.com/snowfence/snowfence/cmd/internal/metrics"
	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// serveHTTP serves HTTP/1.1 and HTTP/2, the latter also without TLS, for
// gRPC on loopback. It returns the address that it listens on.
func (p *Process) serveHTTP(
	ctx context.Context, l listener, m *server.Meter, most int, encrypt bool, h http.Handler,
) (string, error) {
	inner, err := p.listen(ctx, l)
	if err != nil {
		return "", err
	}
	g := &limitListener{Listener: inner, Meter: m, limit: most, user: p.tokens.userOf}
	var ln net.Listener = g
	if encrypt {
		ln = tls.NewListener(g, p.certificates.tlsConfig("h2", "http/1.1"))
	} else {
		g.refusal = busyResponse
	}
	s := &http.Server{
		Handler: p.withDeadlines(h), ConnContext: withPlace,
		ReadHeaderTimeout: p.cfg.Slow, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: server.RequestRoom / 2,
		ErrorLog: log.New(lineLogger{p.cfg.Logger}, "", 0), Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{ // a stream's deadline ends no write of its connection, and buffers stay
			WriteByteTimeout: p.cfg.Slow, MaxReadFrameSize: 16 << 10,
			MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(!encrypt)
	p.http = append(p.http, s)
	p.doors = append(p.doors, inner)
	p.wait.Go(func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) && !p.closed.Load() {
			p.failures <- fmt.Errorf("%s: %w", l.name, err)
		}
	})
	return g.Addr().String(), nil
}

// listen listens on an address. Check took some names for loopback, but a
// name can resolve to anything: listen refuses such a name if it does.
func (p *Process) listen(ctx context.Context, l listener) (net.Listener, error) {
	if path, ok := socketPath(l.address); ok {
		ln, err := listenSocket(path)
		if err != nil {
			return nil, explainListen(l, err)
		}
		return ln, nil
	}
	var lc net.ListenConfig
	network := "tcp"
	if host, _, err := net.SplitHostPort(l.address); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // otherwise 0.0.0.0 would mean IPv6 too
	}
	ln, err := lc.Listen(ctx, network, l.address)
	if err != nil {
		return nil, explainListen(l, err)
	}
	if local, _ := isLoopback(l.address); local {
		if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			if err := p.cfg.checkExposed(l.name, a.String()); err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %s is %s: %w", l.name, l.address, a, err), ln.Close())
			}
		}
	}
	return ln, nil
}

// lineLogger takes the log lines of net/http.
type lineLogger struct{ logger *slog.Logger }

// Write implements [io.Writer].
func (l lineLogger) Write(b []byte) (int, error) {
	l.logger.Debug("http", "text", strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// handlerOf is everything on the HTTP address.
func (p *Process) handlerOf(l listener) http.Handler {
	mux := http.NewServeMux()
	rest.Mount(mux, p.service, p.tokens.identifyRequest, p.streamHandler)
	rpc.Mount(mux, p.service, p.tokens.identifyRequest, p.streamHandler)
	p.dashboard = dashboard.Mount(mux, dashboard.Config{
		Service: p.service, Who: p.tokens.identifyRequest, Refused: p.countRefused, Latency: p.metrics.Latency,
		Version: p.cfg.Version, Started: p.startTime, Ready: p.Ready, Streaming: p.streamHandler,
	})
	p.mountHealth(mux, false)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		id, err := p.tokens.identifyRequest(r)
		if err == nil {
			err = id.Authorize(server.VerbRead, "", 1)
		}
		c := &server.Caller{Identity: id, From: r.RemoteAddr}
		if err == nil {
			series := int64(4*len(p.service.Spaces.List()) + len(p.service.Sequences.List()))
			p.tokens.currentAuth().Used(func(*server.Token, *server.Usage) { series += 2 })
			err = p.service.Reserve(c, 1<<20+series*server.LeaseRoom)
		}
		defer p.service.Ended(c)
		if err != nil {
			p.countRefused(r, err)
			rest.Problem(w, err)
			return
		}
		metrics.Handler(p.metrics, id).ServeHTTP(w, r)
	})
	h := p.sameOrigin(l, mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.service.Meter(wireOf(r)).Requests.Add(1)
		if err := p.tokens.claimPlace(r); err != nil {
			w.Header().Set("Connection", "close")
			p.refuse(w, r, err)
			return
		}
		place, _ := r.Context().Value(placeKey{}).(*server.Place)
		id, _ := p.tokens.identifyRequest(r) // servers and proxies share a connection among tokens
		end, err := p.service.Begin(place, id, server.RequestRoom)
		if err != nil {
			p.refuse(w, r, err)
			return
		}
		defer end()
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000") // for browsers, on the dashboard
		}
		h.ServeHTTP(w, r)
		if r.ProtoMajor >= 2 { // also the head of an answer waits for the client
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// mostRefused bounds the refusals over HTTP/2 that clients have not taken.
const mostRefused = 1000

// refuse answers a request that has no room. Over HTTP/2 an answer waits
// for the client, and so takes room: it has no body, and breaking a request
// off does not wait.
func (p *Process) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p.countRefused(r, err)
	if r.ProtoMajor >= 2 {
		defer p.refused.Add(-1)
		if p.refused.Add(1) > mostRefused {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = http.NewResponseController(w).Flush()
		return
	}
	rest.Problem(w, err)
}

// adminHandler is for the server's operators: it needs no token.
func (p *Process) adminHandler(l listener) http.Handler {
	mux := http.NewServeMux()
	p.mountHealth(mux, true)
	mux.Handle("GET /metrics", metrics.Handler(p.metrics, nil))
	paths := "/healthz\n/readyz\n/metrics"
	if p.cfg.Pprof {
		paths += "\n/debug/pprof/"
		p.mountProfiles(mux)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, paths) })
	return p.sameOrigin(l, refuseCrossSite(mux))
}
