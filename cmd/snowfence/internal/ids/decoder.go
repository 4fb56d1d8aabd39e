package ids

import (
	"errors"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

// DecodeFlags are the flags of decode that say how IDs are read.
type DecodeFlags struct {
	Layout, From string
	Secret       command.SecretFlag
	Store        command.StoreFlags
}

// PrepareDecoder finds out which layouts and forms of text are meant.
func PrepareDecoder(e *command.Env, cmd *cobra.Command, d *show.Decoder, f *DecodeFlags) (err error) {
	// Flags from the environment are for commands that need a store.
	inStore := command.Given(cmd, "store") || command.Given(cmd, "namespace")
	if f.From != "" {
		form, err := snowfence.ParseEncoding(f.From)
		if err != nil {
			return command.Usagef("--from: %w", err)
		}
		d.Form = &form
	}
	scheme := func(l snowfence.Layout) (*snowfence.Scheme, error) { return f.Secret.Scheme(e, l) }
	d.Source = show.Given
	switch {
	case inStore:
		if !command.Given(cmd, "layout") {
			f.Layout = ""
		}
		st, ns, err := f.Store.LookNamespace(cmd.Context(), e)
		if err != nil {
			return err
		}
		defer st.Close()
		d.Source, d.Namespace = show.FromNamespace, f.Store.Namespace
		d.Views, err = namespaceViews(ns, f, scheme)
		return err
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
		d.Source = show.Guessed
	}
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
