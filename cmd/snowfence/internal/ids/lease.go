package ids

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
)

// openLease leases a node of the namespace.
func openLease(ctx context.Context, e *command.Env, st *open.Store, f *newFlags) (*lease.Lease, error) {
	u, err := useNamespace(ctx, e, st, f)
	if err != nil {
		return nil, err
	}
	o := lease.Options{Wait: f.wait > 0, TTL: u.TTL, Logger: slog.New(slog.DiscardHandler)}
	if err := f.node.options(ctx, u.Scheme, &o); err != nil {
		return nil, err
	}
	if st.Volatile {
		e.Message("a store in memory ends with this process: its IDs are unique among themselves only")
	}
	acquire := ctx
	if f.wait > 0 {
		var cancel context.CancelFunc
		acquire, cancel = context.WithTimeout(ctx, f.wait)
		defer cancel()
	}
	l, err := lease.Open(acquire, st.Leases, f.store.Namespace, u.Scheme, &o)
	if err != nil {
		return nil, leaseError(&f.store, err)
	}
	return l, nil
}

// useNamespace returns what the lease takes from the namespace. The first
// use makes the namespace if it is default, or if the store belongs to this
// machine.
func useNamespace(ctx context.Context, e *command.Env, st *open.Store, f *newFlags) (open.Use, error) {
	u, err := st.Use(ctx, f.store.Namespace, f.wanted, func(l snowfence.Layout) (*snowfence.Scheme, error) {
		if f.layout != "" && !l.Equal(f.wanted) {
			return nil, f.mismatch(st, l)
		}
		return command.SchemeOf(l, f.keys)
	})
	switch {
	case u.Made && !st.Local: // other users of the store want to know
		command.AnnounceNamespace(e, f.store.Namespace, u.Scheme)
	case errors.Is(err, lease.ErrNoNamespace):
		return u, fmt.Errorf("namespace %q does not exist in %s: if the name is wrong, list the namespaces; "+
			"if it is right, create it:\n  %s\n  %s",
			f.store.Namespace, st.Name, f.store.Command("snowfence namespace list"),
			f.on("namespace create", f.store.Namespace))
	}
	return u, err
}

// mismatch says that a namespace has another layout, and shows commands
// that work.
func (f *newFlags) mismatch(st *open.Store, have snowfence.Layout) error {
	want := show.LayoutName(f.wanted)
	other := command.OtherName(f.store.Namespace, want)
	how := f.on("new --namespace", other)
	if !st.Local {
		how = f.on("namespace create", other) + "\n  " + how
	}
	return command.Usagef("namespace %q has the layout %s, not %s: leave --layout out, or use another namespace, "+
		"whose IDs can equal the IDs of this one:\n  %s", f.store.Namespace, show.LayoutName(have), want, how)
}

// on returns a command on a namespace with the wanted layout.
func (f *newFlags) on(verb, namespace string) string {
	layout := show.LayoutName(f.wanted)
	if f.layout != "" { // the usual one has no secret
		layout += f.secret.Args()
	}
	return f.store.Command("snowfence %s %s --layout %s", verb, namespace, layout)
}
