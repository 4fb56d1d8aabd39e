package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/agent"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/remote"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// agentDefaults are the defaults of an agent, where a server has others.
var agentDefaults = map[string]string{"http": "unix:/run/snowfence/agent.sock", "resp": ""}

func agentCommand(e *command.Env) *cobra.Command {
	cmd := serverCommand(e, &cobra.Command{
		Use: "agent", Short: "Serve the programs of one host over a socket, from units of nodes", Args: cobra.NoArgs,
		Long: `The agent is a server over other servers. It leases a unit of nodes from them, and hands its nodes
out to the programs of one host, from memory: a program that lives for a second costs the servers
nothing. Its sockets answer what a server answers: IDs, and leases of single nodes. The user and
the group of the agent may use them (mode 0660), and each user may hold a quarter of a unit.

It has the settings of "snowfence serve". --store names the servers, or their store, and
--ready-for the namespace. Make that with a unit: snowfence namespace create --unit 64. In a
namespace without one, an agent leases 16 nodes of servers together.

An agent needs its servers when it starts. If it ends, programs go on to the end of their nodes.

The agent ends when its namespace gets another layout or is deleted: start it again, as systemd
does.`,
		Example: `  snowfence agent --store https://ids:8443 --token-file token --ready-for jobs
  curl --unix-socket /run/snowfence/agent.sock http://localhost/v1/jobs/next`,
	}, agentDefaults)
	cmd.Flags().Lookup("store").Usage = "`URLs` of the servers, with commas between them, or of their store"
	return cmd
}

// agentName returns the present name of a flag from its old name for
// agents.
func agentName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "server":
		name = "store"
	case "namespace":
		name = "ready-for"
	case "socket":
		name = "http"
	case "redis-socket":
		name = "resp"
	}
	return pflag.NormalizedName(name)
}

// checkAgent refuses settings that an agent cannot have, and those that
// need servers in place of a store.
func checkAgent(c *serve.Config) error {
	socket := func(address string) bool { return address == "" || strings.HasPrefix(address, "unix:") }
	switch {
	case open.Servers(c.Store) == nil && (c.TokenFile != "" || c.TLSCA != ""):
		return command.Usagef("--token-file and --tls-ca are for servers in place of a store: add --store " +
			"https://HOST:PORT")
	case !c.Agent:
		return nil
	case !socket(c.HTTP) || !socket(c.RESP):
		return command.Usagef("an agent listens at sockets: --http unix:PATH, and --resp unix:PATH or --resp ''")
	case len(c.ReadyFor) > 1:
		return command.Usagef("an agent has one namespace: name one with --ready-for")
	case c.Tokens != "" || len(c.TokenList) > 0:
		return command.Usagef("an agent knows the users of this host: leave the tokens out")
	}
	return nil
}

// over has a server hand out units of other servers, and returns the store
// that it needs.
func (s *servedStore) over(ctx context.Context, e *command.Env, c *serve.Config, urls []string) (*open.Store, error) {
	client, err := dial(c, urls)
	if err != nil {
		return nil, err
	}
	name := c.AgentNamespace()
	ns, err := client.Namespace(ctx, name)
	var a *agent.Agent
	if err == nil {
		a, err = agent.New(ctx, c, client.Server(), name, ns)
	}
	if err != nil {
		_ = client.Close() // the first error is the one to tell
		return nil, err
	}
	s.endReason = a.Ended()
	e.Message("units of %d nodes of namespace %s are leased from %s", a.Nodes, name, c.Store)
	return open.Over(c.Store, a.Store, client.Close), nil
}

// quotaOf returns how many nodes each user of a host may hold at an agent
// over a store: a quarter of a unit.
func quotaOf(ctx context.Context, st *open.Store, namespace string) (int, error) {
	ns, err := scope.Namespaces(st.Leases).Show(ctx, namespace)
	if err == nil && ns.Unit < 4 {
		err = fmt.Errorf("namespace %q has units of fewer than 4 nodes, and each user of this host needs a quarter "+
			"of one: use a namespace that was made with --unit 64, or run snowfence serve --http unix:PATH", namespace)
	}
	return int(ns.Unit / 4), err
}

func dial(c *serve.Config, urls []string) (*remote.Client, error) {
	o := &remote.Options{TokenFile: c.TokenFile}
	if c.TokenFile != "" {
		if _, err := os.ReadFile(c.TokenFile); err != nil {
			return nil, command.Usagef("--token-file: %w", serve.Explain(err))
		}
	}
	if c.TLSCA != "" {
		pem, err := os.ReadFile(c.TLSCA)
		if err != nil {
			return nil, command.Usagef("--tls-ca: %w", serve.Explain(err))
		}
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, command.Usagef("--tls-ca: %s has no certificate in PEM form", c.TLSCA)
		}
	}
	client, err := remote.Dial(urls, o)
	if err != nil {
		return nil, command.Usagef("--store: %w", err)
	}
	return client, nil
}
