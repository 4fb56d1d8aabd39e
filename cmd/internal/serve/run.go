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
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/dashboard"
	"github.com/snowfence/snowfence/cmd/internal/resp"
	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

// Process is a server that listens.
type Process struct {
	HTTP, RESP, Admin string // addresses as they are, ports included; "" where nothing listens

	cfg     Config
	service *server.Service
	tokens  *tokens
	resp    *resp.Server
	http    []*http.Server

	latency   *server.Latency      // of the store
	dashboard *dashboard.Dashboard // nil without HTTP

	wait   sync.WaitGroup
	failed chan error // of a listener that ended by itself
}

// Start listens, and serves a store, which stays the caller's to close.
func Start(ctx context.Context, cfg Config, st lease.Store) (_ *Process, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	p := &Process{cfg: cfg, failed: make(chan error, 3)}
	conf, err := cfg.tlsConfig()
	if err != nil {
		return nil, err
	}
	if p.tokens, err = newTokens(cfg.Tokens, cfg.Logger); err != nil {
		return nil, err
	}
	cfg.Service.Logger = cfg.Logger
	st, p.latency = server.Measure(st)
	p.service = server.New(lease.Group(st), cfg.Service)
	defer func() {
		if err != nil {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Stop)
			defer cancel()
			err = errors.Join(err, p.Stop(stop))
		}
	}()
	if cfg.HTTP != "" {
		if p.HTTP, err = p.serveHTTP(ctx, cfg.HTTP, conf, p.handler()); err != nil {
			return nil, err
		}
	}
	if cfg.Admin != "" {
		if p.Admin, err = p.serveHTTP(ctx, cfg.Admin, nil, p.adminHandler()); err != nil {
			return nil, err
		}
	}
	if cfg.RESP != "" {
		if err = p.serveRESP(ctx, conf); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Service is what is served.
func (p *Process) Service() *server.Service { return p.service }

// TLS reports whether clients speak TLS.
func (p *Process) TLS() bool { return p.cfg.TLSCert != "" }

// Failed delivers the error of a listener that ended by itself.
func (p *Process) Failed() <-chan error { return p.failed }

func listen(ctx context.Context, address string, conf *tls.Config) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	if conf != nil {
		ln = tls.NewListener(ln, conf)
	}
	return ln, nil
}

func (p *Process) serveRESP(ctx context.Context, conf *tls.Config) error {
	ln, err := listen(ctx, p.cfg.RESP, conf)
	if err != nil {
		return err
	}
	p.RESP = ln.Addr().String()
	p.resp = resp.New(resp.Config{
		Service: p.service, Auth: p.tokens.current, Version: p.cfg.Version, MaxConns: p.cfg.MaxConns, Slow: p.cfg.Slow, Idle: p.cfg.Idle,
		Logger: p.cfg.Logger,
	})
	p.wait.Go(func() {
		if err := p.resp.Serve(ln); err != nil {
			p.failed <- fmt.Errorf("redis protocol: %w", err)
		}
	})
	return nil
}

// serveHTTP serves HTTP/1.1 and HTTP/2, the latter also without TLS, for gRPC on loopback.
func (p *Process) serveHTTP(ctx context.Context, address string, conf *tls.Config, h http.Handler) (string, error) {
	if conf != nil {
		conf = conf.Clone()
		conf.NextProtos = []string{"h2", "http/1.1"}
	}
	ln, err := listen(ctx, address, conf)
	if err != nil {
		return "", err
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: p.cfg.Slow, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(lineLogger{p.cfg.Logger}, "", 0), Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(conf == nil)
	p.http = append(p.http, s)
	p.wait.Go(func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			p.failed <- fmt.Errorf("http: %w", err)
		}
	})
	return ln.Addr().String(), nil
}

// lineLogger is where net/http writes what it has to say.
type lineLogger struct{ logger *slog.Logger }

func (l lineLogger) Write(b []byte) (int, error) {
	l.logger.Debug("http", "text", string(b))
	return len(b), nil
}

// handler is everything on the HTTP address.
func (p *Process) handler() http.Handler {
	mux := http.NewServeMux()
	rest.Mount(mux, p.service, p.tokens.who)
	rpc.Mount(mux, p.service, p.tokens.whoIn, identified)
	p.mountHealth(mux)
	p.dashboard = dashboard.Mount(mux, dashboard.Config{Service: p.service, Who: p.tokens.who, Latency: p.latency, Version: p.cfg.Version})
	return mux
}

func (p *Process) adminHandler() http.Handler {
	mux := http.NewServeMux()
	p.mountHealth(mux)
	return mux
}

// Stop refuses new requests, finishes those that have arrived, and gives the server's leases back, until ctx ends.
func (p *Process) Stop(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	stop := func(what string, f func(context.Context) error) {
		all.Go(func() {
			if err := f(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("stopping %s: %w", what, err))
			}
		})
	}
	if p.dashboard != nil {
		p.dashboard.Close() // pages keep streams open, and look for another server
	}
	if p.resp != nil {
		stop("the redis protocol", p.resp.Shutdown)
	}
	for _, s := range p.http {
		stop("http", func(ctx context.Context) error {
			err := s.Shutdown(ctx)
			if err != nil {
				err = errors.Join(err, s.Close()) // streams do not end by themselves
			}
			return err
		})
	}
	all.Wait()
	p.wait.Wait()
	return errors.Join(errors.Join(errs...), p.service.Close(ctx))
}
