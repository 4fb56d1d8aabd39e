package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/agent"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
)

// agentSource returns where the agent leases its units, without asking it.
func agentSource(e *command.Env, f *agentFlags, logger *slog.Logger) (*agent.Source, error) {
	keys, err := f.secret.Keys(e)
	if err != nil {
		return nil, err
	}
	s := &agent.Source{
		Name: strings.Join(f.servers, ", "), Namespace: f.store.Namespace, Keys: keys,
		Scheme: func(l snowfence.Layout) (*snowfence.Scheme, error) { return command.SchemeOf(l, keys) },
	}
	switch {
	case len(f.servers) == 0:
		s.Name = "the default store"
		if f.store.URL != "" {
			s.Name = open.Redact(f.store.URL)
		}
		s.Open = func(ctx context.Context) (*agent.Opened, error) { return agentStore(ctx, e, f, s, logger) }
		return s, nil
	case f.store.URL != "":
		return nil, command.Usagef("--server and --store: leave one out, or one of SNOWFENCE_SERVER and " +
			"SNOWFENCE_STORE")
	}
	c, err := f.dial()
	if err != nil {
		return nil, err
	}
	s.Open = func(ctx context.Context) (*agent.Opened, error) {
		ns, err := c.Namespace(ctx, s.Namespace)
		return &agent.Opened{
			Server: c.Server(), Layout: ns.Layout, Unit: ns.Unit, MaxTTL: ns.MaxTTL, Close: func() { _ = c.Close() },
		}, err
	}
	return s, nil
}

// dial returns a client of the servers.
func (f *agentFlags) dial() (*remote.Client, error) {
	o := &remote.Options{TokenFile: f.token}
	if f.token != "" {
		if _, err := os.ReadFile(f.token); err != nil {
			return nil, command.Usagef("--token-file: %w", serve.Explain(err))
		}
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, command.Usagef("--tls-ca: %w", serve.Explain(err))
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, command.Usagef("--tls-ca: %s has no certificate in PEM form", f.ca)
		}
	}
	c, err := remote.Dial(f.servers, o)
	if err != nil {
		return nil, command.Usagef("--server: %w", err)
	}
	return c, nil
}

// agentStore opens a store as the source of units.
func agentStore(ctx context.Context, e *command.Env, f *agentFlags, s *agent.Source, logger *slog.Logger,
) (*agent.Opened, error) {
	st, err := f.store.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	f.opened.Store(st)
	ns, err := lease.Namespaces(st.Leases).Show(ctx, s.Namespace)
	var scheme *snowfence.Scheme
	if err == nil {
		scheme, err = s.Scheme(ns.Layout)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &agent.Opened{
		Server: lease.Serve(st.Leases, scheme, &lease.Options{Logger: store.Warnings(logger)}),
		Layout: ns.Layout, Unit: ns.Unit, MaxTTL: ns.MaxTTL, Close: func() { _ = st.Close() },
	}, nil
}
