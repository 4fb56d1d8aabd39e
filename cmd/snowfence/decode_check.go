package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
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
	if d.guess && (p.onCommandLine(cmd, "layout") || inStore) {
		return usagef("--guess looks for the layout: leave --guess out, or --layout, --store and --namespace")
	}
	if d.encodingGiven = f.from != ""; d.encodingGiven {
		if d.encoding, err = parseForm(f.from); err != nil {
			return usagef("--from: %w", err)
		}
	} else {
		d.encoding = snowfence.Decimal
	}
	if d.known, err = knownViews(); err != nil {
		return err
	}
	scheme := func(l snowfence.Layout) (*snowfence.Scheme, error) { return p.scheme(l, &f.secret) }
	d.source = fromFlag
	switch {
	case inStore:
		if !p.onCommandLine(cmd, "layout") {
			f.layout = ""
		}
		st, err := p.openStore(cmd.Context(), &f.store)
		if err != nil {
			return err
		}
		defer st.Close()
		if d.views, err = p.namespaceViews(cmd.Context(), st, f, scheme); err != nil {
			return err
		}
		d.source, d.namespace = fromNamespace, f.store.namespace
		if f.check {
			d.plausible, err = p.plausible(cmd.Context(), st, f.store.namespace)
		}
		if err != nil {
			return err
		}
	case f.layout != "":
		v, err := newViewWith(f.layout, scheme)
		if errors.Is(err, snowfence.ErrInvalidLayout) {
			return usagef("--layout: %w", err)
		}
		if err != nil {
			return err
		}
		d.views = []*view{v}
	default:
		d.views, d.source = d.known, fromDefault // the default layout is the first
		if f.check {
			d.views = d.known[:1]
		}
	}
	d.orBase32Hex = d.views[0].layout.Cipher != snowfence.Plain
	if f.check {
		if d.plausible == nil {
			d.plausible = &snowfence.Plausible{Now: d.now, Ahead: checkAhead}
		}
		p.message("a random number passes this check with a probability of %.2g", d.views[0].scheme.Odds(*d.plausible))
	}
	return nil
}

// namespaceViews returns views of the layout of a namespace, and of those that it had
// before, the last one first.
func (p *program) namespaceViews(ctx context.Context, st *open.Store, f *decodeFlags,
	scheme func(snowfence.Layout) (*snowfence.Scheme, error),
) ([]*view, error) {
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
				"--namespace", ns.Name, layoutName(l), f.layout)
		}
	}
	v, err := newViewWith(layoutName(l), scheme)
	if err != nil || f.check {
		return []*view{v}, err
	}
	v.from = ns.Start
	views := []*view{v}
	for _, past := range slices.Backward(ns.Past) {
		l, err := snowfence.ParseLayout(past.Layout)
		if err != nil {
			return nil, err
		}
		v, err := newViewWith(layoutName(l), scheme)
		if err != nil {
			continue // it was encrypted, and its secret is not given
		}
		v.from, v.until = past.Start, past.Floor
		views = append(views, v)
	}
	return views, nil
}

// checkAhead is how far clocks and leads may be ahead of this machine's clock.
const checkAhead = time.Minute

// plausible returns what --check holds IDs of a namespace against.
func (p *program) plausible(ctx context.Context, st *open.Store, namespace string) (*snowfence.Plausible, error) {
	leases, err := lease.ListLeases(ctx, st.Leases, namespace)
	if err != nil {
		return nil, err
	}
	if len(leases) == 0 {
		return nil, usagef("no node of namespace %q was ever leased, so that no ID can be of it", namespace)
	}
	want := &snowfence.Plausible{Now: p.now(), Ahead: checkAhead, Nodes: snowfence.NodeRange{From: leases[0].Node}}
	for _, r := range leases {
		want.Nodes.From, want.Nodes.Until = min(want.Nodes.From, r.Node), max(want.Nodes.Until, r.Node+1)
	}
	return want, nil
}

func (d *decoder) parts(v *view, id snowfence.ID) (snowfence.Parts, error) {
	if d.plausible != nil {
		return v.scheme.Check(id, *d.plausible)
	}
	return v.scheme.Decode(id)
}
