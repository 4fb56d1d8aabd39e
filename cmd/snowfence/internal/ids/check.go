package ids

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

// DecodeFlags are the flags of decode that say how IDs are read.
type DecodeFlags struct {
	Layout, From string
	Secret       command.SecretFlag
	Check        bool
	Store        command.StoreFlags
}

// PrepareDecoder finds out which layouts and forms of text are meant.
func PrepareDecoder(e *command.Env, cmd *cobra.Command, d *show.Decoder, f *DecodeFlags) (err error) {
	// Flags from the environment are for commands that need a store.
	inStore := command.Given(cmd, "store") || command.Given(cmd, "namespace")
	if d.Guess && (command.Given(cmd, "layout") || inStore) {
		return command.Usagef("--guess looks for the layout: leave --guess out, or --layout, --store and --namespace")
	}
	if f.From != "" {
		if d.Form, err = show.ParseForm(f.From); err != nil {
			return command.Usagef("--from: %w", err)
		}
	}
	scheme := func(l snowfence.Layout) (*snowfence.Scheme, error) { return f.Secret.Scheme(e, l) }
	d.Source = show.Given
	switch {
	case inStore:
		if !command.Given(cmd, "layout") {
			f.Layout = ""
		}
		st, err := f.Store.Look(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		d.Source, d.Namespace = show.FromNamespace, f.Store.Namespace
		return decodeNamespace(cmd.Context(), e, st, d, f, scheme)
	case f.Layout != "":
		v, err := show.NewViewWith(f.Layout, scheme)
		if errors.Is(err, snowfence.ErrInvalidLayout) {
			return command.Usagef("--layout: %w", err)
		}
		if err != nil {
			return err
		}
		d.Views = []*show.View{v}
	default:
		if d.Views, err = show.Known(); err != nil {
			return err
		}
		if d.Source = show.Guessed; f.Check {
			d.Views, d.Source = d.Views[:1], show.Given // a check against each would refuse little
		}
	}
	if f.Check {
		want := &snowfence.CheckOptions{Now: d.Now, Ahead: checkAhead}
		d.Check = func(v *show.View, id snowfence.ID) (snowfence.Parts, error) { return v.Scheme.Check(id, want) }
		sayOdds(e, d.Views[0].Scheme.Odds(want))
	}
	return nil
}

func sayOdds(e *command.Env, odds float64) {
	e.Message("a random number passes this check with a probability of %.2g", odds)
}

// decodeNamespace prepares a decoder for the IDs of a namespace.
func decodeNamespace(ctx context.Context, e *command.Env, st *open.Store, d *show.Decoder, f *DecodeFlags,
	scheme func(snowfence.Layout) (*snowfence.Scheme, error),
) error {
	ns, err := scope.Namespaces(st.Leases).Show(ctx, f.Store.Namespace)
	if err != nil {
		return err
	}
	if d.Views, err = namespaceViews(ns, f, scheme); err != nil || !f.Check {
		return err
	}
	c := namespaceCheck{regions: ns.Regions, now: d.Now}
	if c.leased, err = leasedNodes(ctx, st, ns); err != nil {
		return err
	}
	d.Check = c.check
	odds := 0.0
	for _, v := range d.Views {
		odds += v.Scheme.Odds(c.options(v))
	}
	sayOdds(e, odds)
	return nil
}

// namespaceViews returns views of the layout of a namespace, and of those
// that it had before, the last one first.
func namespaceViews(ns scope.Namespace, f *DecodeFlags,
	scheme func(snowfence.Layout) (*snowfence.Scheme, error),
) ([]*show.View, error) {
	l := ns.Layout
	if f.Layout != "" {
		wanted, err := command.ParseLayout(f.Layout)
		if err != nil {
			return nil, err
		}
		if !wanted.Equal(l) {
			return nil, command.Usagef("namespace %q has the layout %s, not %s: leave --layout out, or --store and "+
				"--namespace", ns.Name, show.LayoutName(l), f.Layout)
		}
	}
	v, err := show.NewViewWith(show.LayoutName(l), scheme)
	if err != nil {
		return nil, err
	}
	v.From, v.Unit = ns.Start, ns.Unit
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

// checkAhead is how far clocks and leads may be ahead of this machine's
// clock.
const checkAhead = time.Minute

// namespaceCheck tells which IDs of a namespace can be real: those in one
// of its regions. For leases, these are the nodes that were ever leased.
type namespaceCheck struct {
	regions []scope.Region
	leased  snowfence.NodeRange // from the lowest to the highest; empty if none ever was
	now     time.Time
}

func (c *namespaceCheck) check(v *show.View, id snowfence.ID) (snowfence.Parts, error) {
	parts, err := v.Scheme.Check(id, &snowfence.CheckOptions{Now: c.now, Ahead: checkAhead})
	if err != nil {
		return parts, err
	}
	ofLeases := false
	for _, r := range c.regions {
		if !r.Layout.Equal(v.Layout) || parts.Tick < r.From || parts.Tick >= r.Until || parts.Sequence > r.Last ||
			parts.Node < r.Nodes.From || parts.Node >= r.Nodes.Until {
			continue
		}
		switch {
		case r.Owner == scope.OwnerLeases: // and numbers below the first, by hand or after a step back
			ofLeases = true
		case parts.Sequence >= r.First:
			return parts, nil
		}
	}
	switch {
	case !ofLeases:
		return parts, fmt.Errorf("%w: the time of %d would be %s, and the namespace did not have this layout then",
			snowfence.ErrInvalidID, int64(id), parts.Time.Format(time.RFC3339))
	case c.leased.Until == 0:
		return parts, fmt.Errorf("%w: %d would be of node %d, and no node was ever leased",
			snowfence.ErrInvalidID, int64(id), parts.Node)
	}
	return v.Scheme.Check(id, &snowfence.CheckOptions{Nodes: c.leased})
}

// options are the widest options of the check in a layout.
func (c *namespaceCheck) options(v *show.View) *snowfence.CheckOptions {
	want := &snowfence.CheckOptions{Now: c.now, Ahead: checkAhead, Nodes: c.leased}
	for _, r := range c.regions {
		if r.Owner != scope.OwnerLeases && r.Layout.Equal(v.Layout) {
			want.Nodes = snowfence.NodeRange{} // it may have any node
		}
	}
	return want
}

// leasedNodes returns the range of nodes that were ever leased.
func leasedNodes(ctx context.Context, st *open.Store, ns scope.Namespace) (nodes snowfence.NodeRange, err error) {
	leases, err := scope.Namespaces(st.Leases).Leases(ctx, ns.Name)
	for i, r := range leases {
		if i == 0 {
			nodes.From = r.Node
		}
		nodes.From, nodes.Until = min(nodes.From, r.Node), max(nodes.Until, r.Node+ns.Unit)
	}
	return nodes, err
}
