package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/agent"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/cobra"
)

// agentFlags are the flags of agent.
type agentFlags struct {
	store    command.StoreFlags
	servers  []string
	token    string // its file
	ca       string // file of the authorities of the servers
	secret   command.SecretFlag
	socket   string
	redis    string
	admin    string
	handOut  bool
	logJSON  bool
	logDebug bool

	opened atomic.Pointer[open.Store] // nil until the store of --store is open
}

// stopAgent is how long the stop of an agent may take.
const stopAgent = 10 * time.Second

func agentCommand(e *command.Env) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use: "agent", Short: "Serve the programs of one host over a socket, from units of nodes", Args: cobra.NoArgs,
		Long: `The agent leases a unit of nodes from a server or a store, and hands its nodes out to the
programs of one host, from memory: a program that lives for a second costs the server nothing.
Its socket answers what a server answers: IDs, and leases of single nodes. The user and the
command.Group of the agent may use the socket (mode 0660), and each user may hold a quarter of a unit.

Make the namespace with a unit: snowfence namespace create --unit 64. In a namespace without
one, an agent leases 16 nodes together.

An agent that starts asks its server. Programs that hold a node go on to the end of it.

The agent ends when the namespace is changed or deleted: start it again, as systemd does.`,
		Example: `  snowfence agent --server https://ids:8443 --token-file token --socket /run/snowfence/agent.sock
  curl --unix-socket /run/snowfence/agent.sock http://localhost/v1/default/next`,
	}
	fs := cmd.Flags()
	f.store.Register(fs)
	fs.StringSliceVar(&f.servers, "server", nil, "`URLs` of servers over one store, as in https://ids:8443, in "+
		"place of --store")
	fs.StringVar(&f.token, "token-file", "", "`file` of the token for the servers, with the verbs read and "+
		"lease; read again when it changes")
	fs.StringVar(&f.ca, "tls-ca", "", "`file` of the authorities of the servers' certificates (default: the system's)")
	f.secret.Register(fs)
	fs.StringVar(&f.socket, "socket", "", "`path` of the socket of HTTP and gRPC")
	fs.StringVar(&f.redis, "redis-socket", "", "`path` of the socket of the Redis protocol, for IDs (default: none)")
	fs.StringVar(&f.admin, "admin", "", "`address` of metrics and health, open to everybody who reaches it (default: "+
		"none)")
	fs.BoolVar(&f.handOut, "hand-out-secrets", false, "give the secrets of an encrypted namespace to programs that "+
		"lease a node")
	fs.BoolVar(&f.logJSON, "log-json", false, "log JSON")
	fs.BoolVar(&f.logDebug, "log-debug", false, "log more")
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, _ *bufio.Writer) error {
		return runAgent(cmd.Context(), e, f)
	})
	return cmd
}

// config returns what the agent serves.
func (f *agentFlags) config(e *command.Env) (c serve.Config, err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // only a label
	}
	c = serve.Config{
		Admin: f.admin, HandOut: f.handOut, LogJSON: f.logJSON, LogDebug: f.logDebug,
		Version: command.ReadVersion().Version,
		Label:   fmt.Sprintf("agent %s/%d", host[:min(len(host), 80)], os.Getpid()),
	}
	if f.socket != "" {
		c.HTTP = "unix:" + f.socket
	}
	if f.redis != "" {
		c.RESP = "unix:" + f.redis
	}
	level := new(slog.LevelVar)
	level.Set(logLevel(&c))
	c.Hide = func(text string) string {
		if st := f.opened.Load(); st != nil {
			return st.Hide(text)
		}
		return text // errors of a store that is not open have no passwords
	}
	c.Logger = newLogger(e, &c, level)
	if c.LogJSON {
		e.Log = c.Logger
	}
	if f.socket == "" {
		return c, command.Usagef("--socket PATH is missing: programs of this host ask there, as in " +
			"/run/snowfence/agent.sock")
	}
	if err := c.Check(); err != nil {
		return c, command.Usage(err)
	}
	return c, nil
}

func runAgent(ctx context.Context, e *command.Env, f *agentFlags) (err error) {
	command.BufferLog(e)
	c, err := f.config(e)
	if err != nil {
		return err
	}
	source, err := agentSource(e, f, c.Logger)
	if err != nil {
		return err
	}
	a, err := agent.Start(ctx, c, source)
	if err != nil {
		return err
	}
	announceAgent(e, f, source, a.Nodes)
	select {
	case <-ctx.Done():
		e.Message("stopping; a second signal ends the program at once")
	case err = <-a.Failed():
	case err = <-a.Ended():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopAgent)
	defer cancel()
	if err = errors.Join(err, a.Stop(stop)); err != nil {
		return errors.New(server.LogText(err))
	}
	e.Message("stopped")
	return nil
}

// announceAgent says where the agent listens, how to try it, and whom the promise covers.
func announceAgent(e *command.Env, f *agentFlags, s *agent.Source, nodes int) {
	e.Message("HTTP and gRPC on %s    try: curl --unix-socket %s http://localhost/v1/%s/next", f.socket, f.socket,
		s.Namespace)
	if f.redis != "" {
		e.Message("Redis protocol on %s    try: redis-cli -s %s SNOWFENCE.NEXT %s", f.redis, f.redis, s.Namespace)
	}
	e.Message("units of %d nodes of namespace %s are leased from %s", nodes, s.Namespace, s.Name)
}
