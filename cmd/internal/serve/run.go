package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/snowfence/snowfence/cmd/internal/metrics"
	"github.com/snowfence/snowfence/cmd/internal/resp"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
)

// Ends lists the certificates and tokens that end soon or have ended.
type Ends struct {
	Certificates, Tokens []string // warnings

	Endless []string // names of tokens that never end
}

// CheckFiles returns the mistakes in the configuration and in the files
// that it names, without listening, and the ends of certificates.
func CheckFiles(cfg Config) (ends Ends, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return ends, err
	}
	certificates, certErr := newCertificates(&cfg)
	tokens, tokenErr := newTokens(&cfg)
	now := time.Now()
	if certificates != nil && certErr == nil {
		ends.Certificates = certificates.warnings(now)
	}
	if tokenErr == nil {
		ends.Tokens = tokens.warnings(now)
		for _, t := range tokens.currentAuth().Tokens() {
			if t.Until.IsZero() && t.Certificate == "" { // a certificate has an end of its own
				ends.Endless = append(ends.Endless, t.Name)
			}
		}
	}
	return ends, errors.Join(certErr, tokenErr)
}

// Start listens, and serves a store, which stays the caller's to close.
func Start(ctx context.Context, cfg Config, st store.Store) (_ *Process, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("systemd: %w", err)
	}
	p := &Process{cfg: cfg, startTime: time.Now(), failures: make(chan error, 3)}
	if p.certificates, err = newCertificates(&cfg); err != nil {
		return nil, err
	}
	if p.certificates != nil {
		p.certificates.logWarnings(p.certificates.warnings)
	}
	if p.tokens, err = newTokens(&cfg); err != nil {
		return nil, err
	}
	p.tokens.logWarnings(p.tokens.warnings)
	observed, latency := server.Observe(st, cfg.Hide)
	o := cfg.Options
	if o.URL, err = cfg.advertised(); err != nil {
		return nil, err
	}
	o.PublicKey, o.Direct = p.certificates.publicKey, observed
	p.service = server.New(store.Group(observed), o)
	p.streamCtx, p.endStreams = context.WithCancel(context.WithoutCancel(ctx))
	p.watchCtx, p.endWatch = context.WithCancel(context.WithoutCancel(ctx))
	p.readiness.Store(&readiness{errStarting})
	p.service.SetReady(p.Ready)
	now := time.Now()
	p.lastCheck.Store(&now)
	p.metrics = &metrics.Source{
		Service: p.service, Latency: latency, Version: cfg.Version, TTL: cfg.TTL,
		Ready: func() bool { return p.Ready() == nil },
		Steps: func() (back, forward int64, last time.Duration) {
			return p.clock.Back.Load(), p.clock.Forward.Load(), time.Duration(p.clock.Last.Load())
		},
		Reloads: p.reloadFailed, Certificates: p.certificates.reportEnds, Tokens: p.tokens.currentAuth,
	}
	if cfg.HTTP != "" {
		p.metrics.Wires = append(p.metrics.Wires, server.HTTP)
	}
	if cfg.RESP != "" {
		p.metrics.Wires = append(p.metrics.Wires, server.RESP)
	}
	defer func() {
		if err != nil {
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Stop)
			defer cancel()
			err = errors.Join(err, p.Stop(stop))
		}
	}()
	if err = p.listenAll(ctx); err != nil {
		return nil, err
	}
	p.background.Go(func() { p.watchAll(p.watchCtx) })
	p.background.Go(func() { p.metrics.Watch(p.watchCtx) })
	p.background.Go(func() { p.service.Servers.Announce(p.watchCtx) })
	if within > 0 {
		p.background.Go(func() { p.watchdog(p.watchCtx, within) })
	}
	p.notifySystemd("READY=1")
	return p, nil
}

func (p *Process) listenAll(ctx context.Context) error {
	l := p.cfg.listeners()
	each, admin := Connections(p.cfg.MaxConns)
	if p.cfg.HTTP != "" {
		m, encrypt := p.service.Meter(server.HTTP), p.certificates != nil
		var err error
		if p.HTTP, err = p.serveHTTP(ctx, l[0], m, each, encrypt, p.handlerOf(l[0])); err != nil {
			return err
		}
	}
	if p.cfg.RESP != "" {
		if err := p.serveRESP(ctx, l[1], each); err != nil {
			return err
		}
	}
	if p.cfg.Admin != "" { // last, so that what it shows is complete
		var err error
		h := p.adminHandler(l[2])
		if p.Admin, err = p.serveHTTP(ctx, l[2], new(server.Meter), admin, false, h); err != nil {
			return err
		}
	}
	return nil
}

func (p *Process) serveRESP(ctx context.Context, l listener, most int) error {
	ln, err := p.listen(ctx, l) // the server of this wire has a limit of its own, and words for those who are refused
	if err != nil {
		return err
	}
	p.RESP = ln.Addr().String()
	if p.certificates != nil {
		ln = &tlsListener{ln, p.certificates.tlsConfig(), p.cfg.Slow}
	}
	p.resp = resp.New(resp.Config{
		Service: p.service, Auth: p.tokens.currentAuth, User: p.tokens.userOf, Version: p.cfg.Version, MaxConns: most,
		Slow: p.cfg.Slow, Logger: p.cfg.Logger,
	})
	p.wait.Go(func() {
		if err := p.resp.Serve(ln); err != nil {
			p.failures <- fmt.Errorf("resp: %w", err)
		}
	})
	return nil
}

// Drain makes the server not ready, and waits as long as Config.Drain says,
// or until ctx ends, so that load balancers send new clients elsewhere.
func (p *Process) Drain(ctx context.Context) {
	p.draining.Store(true)
	p.notifySystemd("STOPPING=1", "STATUS=stopping")
	if p.cfg.Drain == 0 {
		return
	}
	over := time.NewTimer(p.cfg.Drain)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

// Stop refuses new requests, ends streams, finishes the requests that have
// arrived, and gives the server's leases back. All that ends with ctx, of
// which the last quarter is for the leases: clients that do not take their
// answers are cut off before.
func (p *Process) Stop(ctx context.Context) error {
	p.draining.Store(true)
	p.endStreams()
	if p.dashboard != nil {
		p.dashboard.Close() // pages keep streams open, and look for another server
	}
	clients, cancel := clientContext(ctx)
	defer cancel()
	var all sync.WaitGroup
	if p.resp != nil {
		all.Go(func() {
			if err := p.resp.Shutdown(clients); err != nil {
				p.cfg.Logger.Warn("clients of the redis protocol were cut off")
			}
		})
	}
	p.turnAway(clients)
	for _, s := range p.http {
		all.Go(func() {
			if s.Shutdown(clients) != nil {
				_ = s.Close() // it has nothing to add
				p.cfg.Logger.Warn("clients of http were cut off")
			}
		})
	}
	all.Wait()
	p.wait.Wait()
	p.endWatch()
	err := p.service.Close(ctx)
	p.background.Wait()
	return err
}

// silence is how long HTTP is without requests before connections are
// closed at a stop.
const silence = 50 * time.Millisecond

// turnAway lets in no new client over HTTP, and waits until clients that
// keep asking have been told to go. A connection that is closed while a
// request is on its way answers it by a reset.
func (p *Process) turnAway(ctx context.Context) {
	const most, look = time.Second, 5 * time.Millisecond
	p.closed.Store(true)
	for _, l := range p.doors {
		_ = l.Close() // its server closes it, too
	}
	began := time.Now()
	p.lastAsked.Store(began.UnixNano())
	for ctx.Err() == nil && p.service.Meter(server.HTTP).Connections.Load() > 0 && time.Since(began) < most &&
		time.Since(time.Unix(0, p.lastAsked.Load())) < silence {
		time.Sleep(look)
	}
}

// clientContext returns a context for the clients' part of a stop.
func clientContext(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end.Add(-time.Until(end)/4))
}
