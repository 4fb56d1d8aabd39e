package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

// decodeFlags are the flags of decode that say how IDs are read.
type decodeFlags struct {
	layout, from string
	secret       secretFlag
	check        bool
	store        storeFlags
}

// prepareDecoder finds out which layouts and forms of text are meant.
func (p *program) prepareDecoder(cmd *cobra.Command, d *decoder, f *decodeFlags) (err error) {
	// Those of the environment are for commands that need a store.
	inStore := p.onCommandLine(cmd, "store") || p.onCommandLine(cmd, "namespace")
	if d.Guess && (p.onCommandLine(cmd, "layout") || inStore) {
		return usagef("--guess looks for the layout: leave --guess out, or --layout, --store and --namespace")
	}
	if f.from != "" {
		if d.Form, err = show.ParseForm(f.from); err != nil {
			return usagef("--from: %w", err)
		}
	}
	if d.Known, err = show.Presets(); err != nil {
		return err
	}
	scheme := func(l snowfence.Layout) (*snowfence.Scheme, error) { return p.scheme(l, &f.secret) }
	d.Source = show.Given
	switch {
	case inStore:
		if !p.onCommandLine(cmd, "layout") {
			f.layout = ""
		}
		st, err := p.lookStore(cmd.Context(), &f.store)
		if err != nil {
			return err
		}
		defer st.Close()
		if d.Views, err = p.namespaceViews(cmd.Context(), st, f, scheme); err != nil {
			return err
		}
		d.Source, d.Namespace = show.FromNamespace, f.store.namespace
		if f.check {
			d.Check, err = p.plausible(cmd.Context(), st, f.store.namespace)
		}
		if err != nil {
			return err
		}
	case f.layout != "":
		v, err := show.NewViewWith(f.layout, scheme)
		if errors.Is(err, snowfence.ErrInvalidLayout) {
			return usagef("--layout: %w", err)
		}
		if err != nil {
			return err
		}
		d.Views = []*show.View{v}
	default:
		d.Views, d.Source = d.Known, show.ByDefault // the default layout is the first
		if f.check {
			d.Views = d.Known[:1]
		}
	}
	if f.check {
		if d.Check == nil {
			d.Check = &snowfence.CheckOptions{Now: d.Now, Ahead: checkAhead}
		}
		p.message("a random number passes this check with a probability of %.2g", d.Views[0].Scheme.Odds(d.Check))
	}
	return nil
}

// namespaceViews returns views of the layout of a namespace, and of those that it had
// before, the last one first.
func (p *program) namespaceViews(ctx context.Context, st *open.Store, f *decodeFlags,
	scheme func(snowfence.Layout) (*snowfence.Scheme, error),
) ([]*show.View, error) {
	ns, err := lease.ShowNamespace(ctx, st.Leases, f.store.namespace)
	if err != nil {
		return nil, err
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return nil, err
	}
	if f.layout != "" {
		wanted, err := parseLayout(f.layout)
		if err != nil {
			return nil, err
		}
		if !wanted.Equal(l) {
			return nil, usagef("namespace %q has the layout %s, not %s: leave --layout out, or --store and "+
				"--namespace", ns.Name, show.LayoutName(l), f.layout)
		}
	}
	v, err := show.NewViewWith(show.LayoutName(l), scheme)
	if err != nil || f.check {
		return []*show.View{v}, err
	}
	v.From = ns.Start
	views := []*show.View{v}
	for _, past := range slices.Backward(ns.History()) {
		v, err := show.NewViewWith(show.LayoutName(past.Layout), scheme)
		if err != nil {
			continue // it was encrypted, and its secret is not given
		}
		v.From, v.Until = past.From, past.Until
		views = append(views, v)
	}
	return views, nil
}

// checkAhead is how far clocks and leads may be ahead of this machine's clock.
const checkAhead = time.Minute

// plausible returns what --check holds IDs of a namespace against.
func (p *program) plausible(ctx context.Context, st *open.Store, namespace string) (*snowfence.CheckOptions, error) {
	leases, err := lease.ListLeases(ctx, st.Leases, namespace)
	if err != nil {
		return nil, err
	}
	if len(leases) == 0 {
		return nil, usagef("no node of namespace %q was ever leased, so that no ID can be of it", namespace)
	}
	want := &snowfence.CheckOptions{Now: p.now(), Ahead: checkAhead, Nodes: snowfence.NodeRange{From: leases[0].Node}}
	for _, r := range leases {
		want.Nodes.From, want.Nodes.Until = min(want.Nodes.From, r.Node), max(want.Nodes.Until, r.Node+1)
	}
	return want, nil
}
