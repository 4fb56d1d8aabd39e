package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// StoreFlags say which namespace of which store.
type StoreFlags struct {
	URL       string
	Namespace string

	flag *pflag.Flag // of the URL; nil without one
}

// Register adds the flags of the store and the namespace.
func (f *StoreFlags) Register(fs *pflag.FlagSet) {
	f.RegisterStore(fs)
	fs.StringVar(&f.Namespace, "namespace", lease.DefaultNamespace, "the `name` within which IDs are unique")
}

// StoreOf returns the flags of a store that a command names by another way.
func StoreOf(cmd *cobra.Command, url string) *StoreFlags {
	return &StoreFlags{URL: url, flag: cmd.Flags().Lookup("store")}
}

// RegisterStore adds the flag of the store alone.
func (f *StoreFlags) RegisterStore(fs *pflag.FlagSet) {
	fs.StringVar(&f.URL, "store", "", "`URL` of the store: "+open.Schemes+" (see snowfence help stores; "+
		"default: a file of this machine or of this user)")
	f.flag = fs.Lookup("store")
}

// Look opens the store for a command that only reads: a role that may only
// read is enough, and no missing file is made.
func (f *StoreFlags) Look(ctx context.Context, e *Env) (*open.Store, error) {
	if err := e.Places.Missing(f.URL); err != nil {
		e.StoreArgs = f.Command("")
		return nil, err
	}
	st, err := f.Open(ctx, e)
	if err == nil || !open.OnServer(f.URL) || errors.As(err, new(usageError)) || errors.As(err, new(net.Error)) {
		return st, err
	}
	if st, lookErr := f.openURL(ctx, e, open.Look); lookErr == nil {
		return st, nil
	}
	return nil, err
}

// openURL opens the store that --store names.
func (f *StoreFlags) openURL(
	ctx context.Context, e *Env, opener func(context.Context, string, func(string) string) (*open.Store, error),
) (*open.Store, error) {
	e.StoreArgs = f.Command("")
	e.lacksPassword = strings.Contains(e.StoreArgs, open.Hidden)
	st, err := opener(ctx, f.URL, e.Getenv)
	if errors.Is(err, open.ErrURL) {
		return nil, usageError{err}
	}
	if err == nil {
		e.Hide, e.Advice = st.Hide, st.PermissionAdvice
	}
	return st, err
}

// Open opens the store of the flags, or else the system-wide one or the
// user's own, and says which.
func (f *StoreFlags) Open(ctx context.Context, e *Env) (*open.Store, error) {
	if f.URL != "" {
		return f.openURL(ctx, e, open.OpenEnv)
	}
	e.StoreArgs = f.Command("")
	st, err := e.Places.Open(ctx)
	if err != nil {
		return nil, err
	}
	e.Advice = st.PermissionAdvice
	whose, others := "this user", "; other users have their own (snowfence help stores)"
	if st.System {
		whose, others = "this machine", ", for all users"
	}
	switch {
	case st.Made:
		e.Message("made the store of %s, %s%s", whose, st.Name, others)
		e.WarnInContainer("store")
	case isTerminal(e.Stderr):
		e.Message("the store of %s is %s", whose, st.Name)
	}
	if st.OwnFile != "" {
		e.Message("the file %s, which this user's programs used before, is another scope: its IDs can be the same; "+
			"when no program uses it, make its sequences anew above their numbers (--start), and delete it", st.OwnFile)
	}
	return st, nil
}

// WarnInContainer says of a store or folder that was made that each
// container has its own.
func (e *Env) WarnInContainer(what string) {
	if inContainer() {
		e.Message("warning: this %s is in a container, and other containers have others, whose IDs can be the same: "+
			"name one store for all of them with --store (snowfence help stores)", what)
	}
}

// inContainer reports whether the process seems to run in a container.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getpid() == 1 || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// Command returns a command on the same store. Its URL shows no password:
// Message says what to do about that. Commands need not name a store that
// the environment names.
func (f *StoreFlags) Command(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if f.URL != "" && !ofEnvironment(f.flag) {
		text += " --store " + Quoted(open.Redact(f.URL))
	}
	return text
}

// OpenNamespace opens the store and reads the namespace. The caller closes
// the store if there is no error.
func (f *StoreFlags) OpenNamespace(ctx context.Context, e *Env) (*open.Store, scope.Namespace, error) {
	return f.namespaceOf(ctx, e, f.Open)
}

// LookNamespace is OpenNamespace for a command that only reads.
func (f *StoreFlags) LookNamespace(ctx context.Context, e *Env) (*open.Store, scope.Namespace, error) {
	return f.namespaceOf(ctx, e, f.Look)
}

func (f *StoreFlags) namespaceOf(
	ctx context.Context, e *Env, opener func(context.Context, *Env) (*open.Store, error),
) (*open.Store, scope.Namespace, error) {
	var ns scope.Namespace
	if err := CheckName(f.Namespace); err != nil {
		return nil, ns, err
	}
	st, err := opener(ctx, e)
	if err != nil {
		return nil, ns, err
	}
	if ns, err = scope.Namespaces(st.Leases).Show(ctx, f.Namespace); err != nil {
		return nil, ns, errors.Join(err, st.Close())
	}
	return st, ns, nil
}

// AnnounceNamespace says that a namespace was made that was not asked for.
func AnnounceNamespace(e *Env, name string, s *snowfence.Scheme) {
	l := s.Layout()
	e.Message("made the namespace %s, with the layout %s: %s nodes, and IDs until %s", name, show.LayoutName(l),
		show.Thousands(s.Nodes()), l.EndOfLife().Format("2006-01-02"))
}
