package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Generator starts a generator that owns the lease: closing the generator
// closes the lease. It replaces c.Fence by the lease. If it fails, it
// closes the lease.
func (l *Lease) Generator(c snowfence.Config) (*snowfence.Generator, error) {
	l.mu.Lock()
	l.oneGenerator = true
	l.mu.Unlock()
	c.Fence = l
	g, err := snowfence.New(c)
	if err != nil {
		_ = l.Close() // the first error is the one to tell
		return nil, err
	}
	return g, nil
}

// DefaultNamespace is the namespace that [Generator] makes if it is
// missing. You must create any other one, because a misspelled name would
// be a second scope of uniqueness.
const DefaultNamespace = "default"

// Generator leases a node from a store and returns a generator on it. It
// needs no options. It makes [DefaultNamespace] if it is missing, and uses
// the layout of an existing namespace. Closing the generator ends the
// lease.
//
// It returns the errors of [Open]. If the namespace has another layout than
// Options.Layout, the error is [ErrMismatch].
func Generator(ctx context.Context, st store.Store, o *Options) (*snowfence.Generator, error) {
	opts := *cmp.Or(o, &Options{})
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	if st == nil {
		return nil, errors.New("lease: the Store is nil")
	}
	s, err := opts.scheme(ctx, st)
	if err != nil {
		return nil, err
	}
	l, err := Open(ctx, st, opts.Namespace, s, &opts)
	if err != nil {
		return nil, err
	}
	return l.Generator(opts.config())
}

// config returns the options of a generator.
func (o *Options) config() snowfence.Config {
	return snowfence.Config{Lead: o.Lead, Spread: o.Spread, MaxWait: o.MaxWait, Time: o.Time}
}

// scheme returns the scheme of the namespace, and makes the namespace if
// allowed.
func (o *Options) scheme(ctx context.Context, st store.Store) (*snowfence.Scheme, error) {
	named := !o.Layout.Equal(snowfence.Layout{})
	ns, err := scope.Namespaces(st).Show(ctx, o.Namespace)
	if errors.Is(err, ErrNoNamespace) && (o.Create || o.Namespace == DefaultNamespace) {
		l := snowfence.Default()
		if named {
			l = o.Layout
		}
		s, schemeErr := o.schemeOf(l)
		if schemeErr != nil {
			return nil, schemeErr
		}
		if ns, err = scope.Namespaces(st).Create(ctx, o.Namespace, s, nil); err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrMismatch) {
			return nil, err
		}
		ns, err = scope.Namespaces(st).Show(ctx, o.Namespace) // another process was first
	}
	if err != nil {
		return nil, err
	}
	if named && !ns.Layout.Equal(o.Layout) {
		return nil, fmt.Errorf("%w; without a Layout in the options its own is used",
			fault.Mismatch(ns.Name, ns.Layout.String(), o.Layout.String()))
	}
	return o.schemeOf(ns.Layout)
}

// schemeOf returns the scheme of a layout with the secrets of the options.
func (o *Options) schemeOf(l snowfence.Layout) (*snowfence.Scheme, error) {
	s, err := snowfence.NewScheme(l, o.Secrets...)
	if errors.Is(err, snowfence.ErrKey) && l.Cipher != snowfence.Plain && len(o.Secrets) == 0 {
		return nil, fmt.Errorf("lease: namespace %q has the encrypted layout %s: "+
			"give its secrets in the options (Secrets): %w", o.Namespace, l, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", o.Namespace, err)
	}
	return s, nil
}
