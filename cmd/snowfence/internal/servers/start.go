package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// firstNamespace makes the namespace default where it is missing, for
// leases of the ttl, and says so. A server that names only others in
// ready-for has no use for it, and an agent makes none.
func firstNamespace(ctx context.Context, e *command.Env, st *open.Store, c *serve.Config) error {
	if c.Agent || len(c.ReadyFor) > 0 && !slices.Contains(c.ReadyFor, lease.DefaultNamespace) {
		return nil
	}
	_, err := scope.Namespaces(st.Leases).Show(ctx, lease.DefaultNamespace)
	if !errors.Is(err, lease.ErrNoNamespace) {
		return err
	}
	l := snowfence.Default()
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return err
	}
	_, err = scope.Namespaces(st.Leases).Create(ctx, lease.DefaultNamespace, s, &scope.NamespaceOptions{
		MaxTTL: max(c.TTL, scope.DefaultTTL),
	})
	if errors.Is(err, lease.ErrMismatch) { // another process was first
		return nil
	}
	if err == nil {
		command.AnnounceNamespace(e, lease.DefaultNamespace, s)
	}
	return err
}

// missingNamespaces returns the namespaces that a store does not have.
func missingNamespaces(ctx context.Context, st *open.Store, names []string) (missing []string, err error) {
	for _, name := range names {
		switch ns, err := scope.Namespaces(st.Leases).Show(ctx, name); {
		case errors.Is(err, lease.ErrNoNamespace), err == nil && ns.State == scope.Deleted:
			missing = append(missing, name)
		case err != nil:
			return missing, err
		}
	}
	return missing, nil
}

// checkSpread refuses a spread that is of no use in the layout of its
// namespace.
func checkSpread(ctx context.Context, e *command.Env, st *open.Store, spreads map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(spreads)) {
		ns, err := scope.Namespaces(st.Leases).Show(ctx, name)
		if errors.Is(err, lease.ErrNoNamespace) || err == nil && ns.State == scope.Deleted {
			e.Message("the namespace %q of spread does not exist: if the name is right, make it: "+
				"snowfence namespace create %s%s", name, name, e.StoreArgs)
			continue
		}
		if err != nil {
			return err
		}
		l := ns.Layout
		if err := l.CheckSpread(spreads[name]); err != nil {
			return command.Usagef("--spread %s=%d: %w", name, spreads[name], err)
		}
	}
	return nil
}

// otherVariables are the variables without a flag.
var otherVariables = []string{
	open.PasswordEnv, open.PasswordFileEnv, "SNOWFENCE_FROM_PASSWORD", "SNOWFENCE_FROM_PASSWORD_FILE",
}

// sayUnknownVariables names variables that look like settings and are none:
// with a misspelled name, the default would stay in use unnoticed.
func sayUnknownVariables(e *command.Env, root *cobra.Command) {
	known := map[string]bool{}
	for _, name := range otherVariables {
		known[name] = true
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known[command.EnvName(f.Name)] = true })
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	for _, name := range slices.Sorted(maps.Keys(e.Vars)) {
		// Kubernetes sets variables of a service that is named snowfence.
		if !strings.HasPrefix(name, "SNOWFENCE_") || known[name] || strings.Contains(name, "_SERVICE_") ||
			strings.HasPrefix(e.Getenv(name), "tcp://") || strings.Contains(name, "_PORT_") {
			continue
		}
		e.Message("warning: the variable %s means nothing: \"snowfence serve --help\" has the names", name)
	}
}

// announce names the server's addresses, a command to try it, and its
// users.
func announce(e *command.Env, s *serve.Process, c *serve.Config) {
	namespace, certified := slices.Concat(c.ReadyFor, []string{lease.DefaultNamespace})[0], c.TLSClientCA != ""
	scheme, tls := "http", ""
	if s.TLS() {
		scheme, tls = "https", " --cacert CA.pem"
		if certified {
			tls += " --cert YOUR.pem --key YOUR.key"
		}
	}
	var where, try []string
	if s.HTTP != "" {
		header := ""
		if s.Tokens() {
			header = ` -H "Authorization: Bearer $TOKEN"`
		}
		at, base, socket := scheme+"://"+s.HTTP, scheme+"://"+dialable(s.HTTP), ""
		if path, ok := strings.CutPrefix(s.HTTP, "unix:"); ok {
			at, base, socket = s.HTTP, scheme+"://localhost", " --unix-socket "+path
		}
		where = append(where, "HTTP, gRPC and Connect on "+at)
		try = append(try, fmt.Sprintf("curl%s%s%s %s/v1/%s/next", tls, header, socket, base, namespace))
		if socket == "" {
			where, try = append(where, "dashboard on "+base+"/dashboard/"), append(try, "")
		}
	}
	if host, port, err := net.SplitHostPort(dialable(s.RESP)); err == nil {
		before, flags := "", " -p "+port
		if s.Tokens() {
			before = `REDISCLI_AUTH="$TOKEN" `
		}
		switch host {
		case "127.0.0.1":
		case "unix":
			flags = " -s " + port
		default:
			flags = " -h " + host + flags
		}
		if s.TLS() {
			flags += " --tls" + tls
		}
		where = append(where, "Redis protocol on "+s.RESP)
		try = append(try, before+"redis-cli"+flags+" SNOWFENCE.NEXT "+namespace)
	}
	if s.Admin != "" {
		at := "http://" + s.Admin
		if strings.HasPrefix(s.Admin, "unix:") {
			at = s.Admin
		}
		where, try = append(where, "metrics and health on "+at), append(try, "")
	}
	width := 0
	for i, text := range where {
		if try[i] != "" {
			width = max(width, len(text))
		}
	}
	for i, text := range where {
		if try[i] != "" {
			text += strings.Repeat(" ", width-len(text)) + "    try: " + try[i]
		}
		e.Message("%s", text)
	}
	if !s.Tokens() && !c.Agent {
		e.Message("every program that reaches these addresses%s may do everything: "+
			"\"snowfence token new\" makes tokens", map[bool]string{true: " with a certificate"}[certified])
	}
}

// dialable is an address that this machine can connect to.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}
