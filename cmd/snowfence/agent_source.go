package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/agent"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
)

// agentSource returns where the agent leases its units. closed closes that.
func (p *program) agentSource(ctx context.Context, f *agentFlags) (_ *agent.Source, closed func(), _ error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	keys, err := p.keys(&f.secret)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(f.servers) == 0:
		return p.agentStore(ctx, f, keys)
	case f.store.store != "":
		return nil, nil, usagef("--server and --store: leave one out, or one of SNOWFENCE_SERVER and SNOWFENCE_STORE")
	}
	c, err := f.dial()
	if err != nil {
		return nil, nil, err
	}
	ns, err := c.Namespace(ctx, f.store.namespace)
	s := &agent.Source{
		Name: strings.Join(f.servers, ", "), Namespace: f.store.namespace, Keys: keys, TTL: ns.MaxTTL,
	}
	if err == nil {
		s.Scheme, err = p.scheme(ns.Layout, &f.secret)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	s.Nodes = agent.UnitOf(ns.Unit, s.Scheme.Nodes())
	s.Lease = func(ctx context.Context, o *lease.Options) (*lease.Lease, error) {
		return c.Lease(ctx, s.Namespace, s.Scheme, o)
	}
	return s, func() { _ = c.Close() }, nil
}

// dial returns a client of the servers.
func (f *agentFlags) dial() (*remote.Client, error) {
	o := &remote.Options{TokenFile: f.token}
	if f.token != "" {
		if _, err := os.ReadFile(f.token); err != nil {
			return nil, usagef("--token-file: %w", serve.Explain(err))
		}
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, usagef("--tls-ca: %w", serve.Explain(err))
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usagef("--tls-ca: %s has no certificate in PEM form", f.ca)
		}
	}
	c, err := remote.Dial(f.servers, o)
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	return c, nil
}

// agentStore returns a store as the source of units.
func (p *program) agentStore(
	ctx context.Context, f *agentFlags, keys []*snowfence.Secret,
) (_ *agent.Source, closed func(), err error) {
	st, err := p.openStore(ctx, &f.store)
	if err != nil {
		return nil, nil, err
	}
	s := &agent.Source{Name: st.Name, Namespace: f.store.namespace, Keys: keys}
	ns, err := lease.Namespaces(st.Leases).Show(ctx, s.Namespace)
	if err == nil {
		s.Scheme, err = p.scheme(ns.Layout, &f.secret)
	}
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	s.Nodes, s.TTL = agent.UnitOf(ns.Unit, s.Scheme.Nodes()), ns.MaxTTL
	s.Lease = func(ctx context.Context, o *lease.Options) (*lease.Lease, error) {
		return lease.Open(ctx, st.Leases, s.Namespace, s.Scheme, o)
	}
	return s, func() { _ = st.Close() }, nil
}
