package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Generator opens a lease and starts a generator on it, in one step: closing the
// generator closes the lease. c says how the generator works; its Fence is set here.
func Generator(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, c snowfence.Config, o *Options,
) (*snowfence.Generator, error) {
	l, err := Open(ctx, st, namespace, s, o)
	if err != nil {
		return nil, err
	}
	return l.Generator(c)
}

// Generator starts a generator on the lease, for which the lease is from here on: closing the
// generator closes the lease. c says how it works; its Fence is set here. An error closes the
// lease.
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

// DefaultNamespace is made if it is missing. You must create any other
// one, because a misspelled name would be a second scope of uniqueness.
const DefaultNamespace = "default"

// GeneratorOptions says what [OpenGenerator] and the one-line functions
// of the stores make. Nil and the zero value are good for most.
type GeneratorOptions struct {
	// Namespace is the name within which IDs are unique; "" means [DefaultNamespace].
	Namespace string

	// Layout is the layout that the namespace must have. The zero value means
	// the layout in the store. For a new namespace it means snowfence.Default.
	Layout snowfence.Layout

	// Secrets are those of an encrypted layout, as snowfence.NewScheme takes them.
	Secrets []*snowfence.Secret

	// Lead is how many ticks IDs may run ahead of the clock: snowfence.Config.Lead.
	Lead int64

	// Spread makes id % n even where few IDs are made: snowfence.Config.Spread.
	Spread int64

	// Create makes a namespace of any name on first use: Options.Create.
	// It is meant for a store that belongs to one machine.
	Create bool

	// Logger is told what happens to the lease. Nil
	// means that slog.Default is told of trouble only.
	Logger *slog.Logger
}

// OpenGenerator leases a node from a store and returns a generator on it. You need
// to configure nothing. It makes [DefaultNamespace] if it is missing, and uses the
// layout of a namespace that exists. Closing the generator ends the lease.
// [Generator] has more options of leases and generators.
//
// Errors worth telling apart are those of [Open]. If the namespace has
// another layout than GeneratorOptions.Layout, that is a [MismatchError].
func OpenGenerator(ctx context.Context, st store.Store, o *GeneratorOptions) (*snowfence.Generator, error) {
	var opts GeneratorOptions
	if o != nil {
		opts = *o
	}
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	if opts.Logger == nil {
		opts.Logger = store.Warnings(slog.Default())
	}
	if st == nil {
		return nil, errors.New("lease: the Store is nil")
	}
	if err := CheckName(opts.Namespace); err != nil {
		return nil, err
	}
	s, err := opts.scheme(ctx, st)
	if err != nil {
		return nil, err
	}
	return Generator(ctx, st, opts.Namespace, s, snowfence.Config{Lead: opts.Lead, Spread: opts.Spread},
		&Options{Logger: opts.Logger})
}

// scheme returns the scheme of the namespace, and makes the namespace if allowed.
func (o *GeneratorOptions) scheme(ctx context.Context, st store.Store) (*snowfence.Scheme, error) {
	named := !o.Layout.Equal(snowfence.Layout{})
	ns, err := readNamespace(ctx, st, o.Namespace)
	if errors.Is(err, ErrNoNamespace) && (o.Create || o.Namespace == DefaultNamespace) {
		l := snowfence.Default()
		if named {
			l = o.Layout
		}
		s, schemeErr := o.schemeOf(l)
		if schemeErr != nil {
			return nil, schemeErr
		}
		if ns, err = Namespaces(st).Create(ctx, o.Namespace, s, nil); err == nil {
			return s, nil
		}
		var first *MismatchError
		if !errors.As(err, &first) {
			return nil, err
		}
		ns, err = readNamespace(ctx, st, o.Namespace) // another process was first
	}
	if err != nil {
		return nil, err
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lease: namespace %q has a layout that this program does not know: "+
			"use the version that made it, or a later one: %w", ns.Name, err)
	case named && !l.Equal(o.Layout):
		mismatch := &MismatchError{ns.Name, ns.Layout, o.Layout.String()}
		return nil, fmt.Errorf("%w; without a Layout in the options its own is used", mismatch)
	}
	return o.schemeOf(l)
}

// schemeOf returns the scheme of a layout with the secrets of the options.
func (o *GeneratorOptions) schemeOf(l snowfence.Layout) (*snowfence.Scheme, error) {
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
