package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/spf13/pflag"
)

// storeFlags say which namespace of which store.
type storeFlags struct {
	store     string
	namespace string
	implied   bool // the environment names the store, so that commands need not

	action string // of a command that manages
}

func (f *storeFlags) register(fs *pflag.FlagSet) {
	f.registerStore(fs)
	fs.StringVar(&f.namespace, "namespace", lease.DefaultNamespace, "the `name` within which IDs are unique")
}

func (f *storeFlags) registerStore(fs *pflag.FlagSet) {
	fs.StringVar(&f.store, "store", "", "`URL` of the store: "+open.Schemes+" (see snowfence help stores; "+
		"default: a file of this machine or of this user)")
}

// opener is openStore or lookStore.
type opener func(ctx context.Context, f *storeFlags) (*open.Store, error)

// lookStore opens the store of the flags for a command that only reads: a role that may only read
// is enough, and a file that is missing stays so. Files are opened for reading anyway, where they
// cannot be written.
func (p *program) lookStore(ctx context.Context, f *storeFlags) (*open.Store, error) {
	if err := p.places.Missing(f.store); err != nil {
		f.implied = p.fromEnv["store"]
		p.storeArgs = f.command("")
		return nil, err
	}
	st, err := p.openStore(ctx, f)
	if err == nil || !open.OnServer(f.store) || errors.As(err, new(usageError)) || errors.As(err, new(net.Error)) {
		return st, err
	}
	if st, lookErr := p.openURL(ctx, f, open.Look); lookErr == nil {
		return st, nil
	}
	return nil, err
}

// openURL opens the store that --store names.
func (p *program) openURL(
	ctx context.Context, f *storeFlags, opener func(context.Context, string, func(string) string) (*open.Store, error),
) (*open.Store, error) {
	f.implied = p.fromEnv["store"]
	p.storeArgs = f.command("")
	p.lacksPassword = strings.Contains(p.storeArgs, open.Hidden)
	st, err := opener(ctx, f.store, func(name string) string { return p.env[name] })
	if errors.Is(err, open.ErrURL) {
		return nil, usageError{err}
	}
	if err == nil {
		p.hide, p.permissionAdvice = st.Hide, st.PermissionAdvice
	}
	return st, err
}

// openStore opens the store of the flags.
func (p *program) openStore(ctx context.Context, f *storeFlags) (*open.Store, error) {
	return p.openAny(ctx, f)
}

// openAny opens the store of the flags, or else the system-wide one or the user's own,
// and says which.
func (p *program) openAny(ctx context.Context, f *storeFlags) (*open.Store, error) {
	if f.store != "" {
		return p.openURL(ctx, f, open.OpenEnv)
	}
	f.implied = p.fromEnv["store"]
	p.storeArgs = f.command("")
	st, err := p.places.Open(ctx)
	if err != nil {
		return nil, err
	}
	p.permissionAdvice = st.PermissionAdvice
	whose, others := "this user", "; other users have their own (snowfence help stores)"
	if st.System {
		whose, others = "this machine", ", for all users"
	}
	switch {
	case st.Made:
		p.message("made the store of %s, %s%s", whose, st.Name, others)
		if inContainer() {
			p.message("warning: this store is in a container, and other containers have others, " +
				"whose IDs can be the same: name one store for all of them with --store (snowfence help stores)")
		}
	case isTerminal(p.stderr):
		p.message("the store of %s is %s", whose, st.Name)
	}
	if st.OwnFile != "" {
		p.message("the file %s, which this user's programs used before, is another scope: its IDs can be the "+
			"same; delete it when no program uses it", st.OwnFile)
	}
	return st, nil
}

// inContainer reports whether the process runs in a container, as far as it shows.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getpid() == 1 || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// parseLayout reads --layout; "" is the layout of a new namespace.
func parseLayout(spec string) (snowfence.Layout, error) {
	if spec == "" {
		return snowfence.Default(), nil
	}
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return l, usagef("--layout: %w", err)
	}
	return l, nil
}

// openLease leases a node of the namespace. With a fixed node it also returns its record
// from before, nil without one.
func (p *program) openLease(ctx context.Context, st *open.Store, f *newFlags) (*lease.Lease, *store.Record, error) {
	s, err := p.namespaceScheme(ctx, st, f)
	if err != nil {
		return nil, nil, err
	}
	if f.block < 1 || f.block&(f.block-1) != 0 || int64(f.block) > s.Nodes() {
		return nil, nil, usagef("--block %d: a power of two, at most the %s of the layout", f.block,
			show.Plural(s.Nodes(), "node"))
	}
	ttl, err := st.TTL(ctx, f.store.namespace)
	if err != nil {
		return nil, nil, err
	}
	o := lease.Options{Nodes: f.block, Wait: f.wait > 0, TTL: ttl, Logger: slog.New(slog.DiscardHandler)}
	var before *store.Record
	if err := f.node.options(ctx, s, &o); err != nil {
		return nil, nil, err
	}
	if o.Node != nil {
		if node, k := *o.Node, int64(f.block); node%k != 0 {
			return nil, nil, usagef("--node %s: a block of %d nodes starts at a multiple of %d: take %d, or "+
				"leave --block out", f.node.node, k, k, node-node%k)
		}
		if before, err = latest(ctx, st, f, *o.Node); err != nil {
			return nil, nil, err
		}
	}
	if st.Volatile {
		p.message("a store in memory ends with this process: its IDs are unique among themselves only")
	}
	acquire := ctx
	if f.wait > 0 {
		var cancel context.CancelFunc
		acquire, cancel = context.WithTimeout(ctx, f.wait)
		defer cancel()
	}
	l, err := lease.Open(acquire, st.Leases, f.store.namespace, s, &o)
	if err != nil {
		return nil, nil, f.store.leaseError(err)
	}
	return l, before, nil
}

// namespaceScheme returns the scheme of the namespace, and makes the namespace on first
// use if it is default, or if the store belongs to this machine.
func (p *program) namespaceScheme(ctx context.Context, st *open.Store, f *newFlags) (*snowfence.Scheme, error) {
	wanted, err := parseLayout(f.layout)
	if err != nil {
		return nil, err
	}
	ns, err := lease.Namespaces(st.Leases).Show(ctx, f.store.namespace)
	switch {
	case errors.Is(err, lease.ErrNoNamespace) && (st.Local || f.store.namespace == lease.DefaultNamespace):
		s, err := p.scheme(wanted, &f.secret)
		if err != nil {
			return nil, err
		}
		_, err = lease.Namespaces(st.Leases).Create(ctx, f.store.namespace, s, nil)
		if errors.Is(err, lease.ErrMismatch) { // another process was first
			return p.namespaceScheme(ctx, st, f)
		}
		if err == nil && !st.Local { // other users of the store want to know
			p.announceNamespace(f.store.namespace, s)
		}
		return s, err
	case errors.Is(err, lease.ErrNoNamespace):
		if _, err := p.scheme(wanted, &f.secret); err != nil {
			return nil, err // create would fail because of it, too
		}
		return nil, fmt.Errorf("namespace %q does not exist in %s: if the name is wrong, see which there are; "+
			"if it is right, create it:\n  %s\n  %s",
			f.store.namespace, st.Name, f.store.command("snowfence namespace list"),
			f.store.command("snowfence namespace create %s --layout %s", f.store.namespace,
				show.LayoutName(wanted)+p.secretArgs(&f.secret)))
	case err != nil:
		return nil, err
	}
	l := ns.Layout
	if f.layout != "" && !l.Equal(wanted) {
		return nil, f.mismatch(p, st, l, wanted)
	}
	return p.scheme(l, &f.secret)
}

// mismatch says that a namespace has another layout, and shows commands that work.
func (f *newFlags) mismatch(p *program, st *open.Store, have, want snowfence.Layout) error {
	name := show.LayoutName(want)
	other := otherName(f.store.namespace, name)
	secrets := p.secretArgs(&f.secret)
	how := f.store.command("snowfence new --namespace %s --layout %s", other, name+secrets)
	if !st.Local {
		how = f.store.command("snowfence namespace create %s --layout %s", other, name+secrets) + "\n  " + how
	}
	return usagef("namespace %q has the layout %s, not %s: leave --layout out, or use another namespace, whose "+
		"IDs can equal the IDs of this one:\n  %s",
		f.store.namespace, show.LayoutName(have), name, how)
}
