package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
	"github.com/spf13/cobra"
)

func serveCommand(e *command.Env) *cobra.Command {
	return serverCommand(e, &cobra.Command{
		Use: "serve", Short: "Serve IDs and leases over HTTP, gRPC and the Redis protocol", Args: cobra.NoArgs,
		Long: `Serve makes IDs for programs in any language, and leases nodes to those that make IDs
themselves. IDs are unique within one namespace of one store: run as many servers over one
store as you like. Without --store, the store is a file: the one for all users of this
machine, if an administrator made it, and otherwise the file of the server's user ("snowfence
help stores"). The server makes the namespace "default" if it is missing, unless --ready-for
names only others; "snowfence namespace create" makes those.

Each setting is a flag, a variable of the environment (SNOWFENCE_MAX_WAIT for --max-wait), or
a line of the file that --config names (max-wait: 2s); the first of these that is there
counts. The file can also hold the tokens and secrets themselves:

  store: postgres://snowfence@db.example/ids?password_file=/etc/snowfence/db
  http: 0.0.0.0:8443
  tls-cert: /etc/snowfence/tls.crt
  tls-key: /etc/snowfence/tls.key
  tokens:                      # or the path of a file that has these lines
    - name: shop
      sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
      namespaces: [orders, "cart-*"]
      verbs: [ids, read]
      rate: 50000
  secret:                      # paths of files, oldest first
    users: [/etc/snowfence/users-1.key, /etc/snowfence/users-2.key]
  secrets:                     # or the secrets themselves
    invoices: 000102030405060708090a0b0c0d0e0f

SIGTERM and Ctrl-C stop the server: requests finish, streams end, and nodes are given back.
A second one ends it at once. SIGHUP reads tokens, certificates and the file of settings again,
and names settings that need a restart.`,
		Example: `  snowfence serve
  curl http://127.0.0.1:8080/v1/default/next
  redis-cli -p 6380 SNOWFENCE.NEXT default`,
	}, nil)
}

// serverCommand adds the flags and the work of a server to a command. Some
// flags have other defaults.
func serverCommand(e *command.Env, cmd *cobra.Command, defaults map[string]string) *cobra.Command {
	bindSettings(cmd.Flags(), &serve.Config{}, defaults)
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		_, args, err := cmd.Root().Find(e.Args)
		if err != nil {
			return err
		}
		again := func() (serve.Config, error) { return settingsOf(e, args, defaults) }
		c, err := again()
		if err != nil {
			if c.LogJSON {
				e.Log = slog.New(slog.NewJSONHandler(e.Stderr, nil))
			}
			return err
		}
		return runServer(e, cmd, c, again, out)
	})
	return cmd
}

func runServer(
	e *command.Env, cmd *cobra.Command, c serve.Config, again func() (serve.Config, error), out *bufio.Writer,
) error {
	ctx := cmd.Context()
	if c.CheckHealth {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := serve.Probe(ctx, c, "/healthz"); err != nil {
			return err
		}
		fmt.Fprintln(out, "ok")
		return nil
	}
	command.BufferLog(e)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from the start on: unheard it would end the program
	defer signal.Stop(hangups)
	c.Version = command.ReadVersion().Version
	level := new(slog.LevelVar)
	level.Set(logLevel(&c))
	st := servedStore{flags: command.StoreOf(cmd, c.Store)}
	c.Hide = st.hide
	c.Logger = newLogger(e, &c, level)
	if c.LogJSON {
		e.Log = c.Logger
	}
	sayUnknownVariables(e, cmd.Root())
	if err := checkService(&c); err != nil {
		return err
	}
	keys, err := serverKeys(e, &c)
	if err != nil {
		return err
	}
	c.Keys = func(namespace string) ([]*snowfence.Secret, error) { return keys[namespace], nil }
	if err := c.Check(); err != nil {
		return command.Usage(err)
	}
	if c.CheckConfig {
		ends, err := serve.CheckFiles(c)
		if open.Servers(c.Store) == nil {
			err = errors.Join(err, open.Check(c.Store))
		}
		if err != nil {
			return command.Usage(err)
		}
		for _, text := range slices.Concat(ends.Certificates, ends.Tokens) {
			e.Message("warning: %s", text)
		}
		warnFiles(e, &c)
		fmt.Fprintln(out, "ok")
		return nil
	}
	warnFiles(e, &c)
	if err := openServed(ctx, e, &c, &st); err != nil {
		return err
	}
	defer st.close()
	// This memory is never touched, so it takes no room, but the garbage
	// collector counts it. With a small heap it would run many times a
	// second, and cost a tenth of the requests.
	ballast := make([]byte, 32<<20)
	defer runtime.KeepAlive(ballast)
	c.Connections = open.Connections(c.Store)
	s, err := serve.Start(context.WithoutCancel(ctx), c, &st.leases)
	if err != nil {
		return err
	}
	announce(e, s, &c)
	announceStore(ctx, e, &st, &c)
	for running := true; running; {
		select {
		case <-hangups:
			reload(e, s, &c, level, again)
			continue
		case <-st.retry:
			if err = openServed(ctx, e, &c, &st); err == nil {
				announceStore(ctx, e, &st, &c)
			}
			if err == nil || ctx.Err() != nil {
				err = nil
				continue
			}
		case <-ctx.Done():
			e.Message("stopping; a second signal ends the program at once")
			s.Drain(context.WithoutCancel(ctx))
		case err = <-s.Failed():
		case err = <-st.endReason:
		}
		running = false
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Stop)
	defer cancel()
	if err = errors.Join(err, s.Stop(stop)); err != nil {
		return errors.New(server.LogText(err))
	}
	e.Message("stopped")
	return nil
}

// checkService refuses settings that a lease or a generator would refuse at
// the first request.
func checkService(c *serve.Config) error {
	switch {
	case c.Block < 0 || c.Block&(c.Block-1) != 0:
		return command.Usagef("--block %d: a power of two, or 0", c.Block)
	case c.Lead < 0 || c.Lead > 1<<40:
		return command.Usagef("--lead %d: give 0 to %d ticks", c.Lead, int64(1)<<40)
	case c.Within != "" && !readableWithin(c.Within):
		return command.Usagef("--within %q: a range such as 30-63, one node, or a part such as datacenter=3", c.Within)
	case c.TTL < 10*time.Millisecond || c.TTL > 24*time.Hour:
		return command.Usagef("--ttl %v: from 10ms to 24h", c.TTL)
	case c.MaxWait <= 0:
		return command.Usagef("--max-wait %v: more than 0", c.MaxWait)
	case len(c.Label) > 128:
		return command.Usagef("--label: it has %d bytes, more than 128", len(c.Label))
	case !store.Plain(c.Label):
		return command.Usagef("--label %q is not UTF-8, or has control characters: leave them out", c.Label)
	case c.Stop <= 0:
		return command.Usagef("--stop-timeout %v: more than 0", c.Stop)
	}
	for _, name := range c.ReadyFor {
		if err := command.CheckName(name); err != nil {
			return fmt.Errorf("--ready-for: %w", err)
		}
	}
	if err := checkAgent(c); err != nil {
		return err
	}
	for name, n := range c.Spread {
		if err := command.CheckName(name); err != nil {
			return fmt.Errorf("--spread: %w", err)
		}
		if n < 0 {
			return command.Usagef("--spread %s=%d: give 0 or more sequence numbers", name, n)
		}
	}
	return nil
}

// readableWithin tells whether nodes.Within can read a text; what it means
// depends on the layout.
func readableWithin(text string) bool {
	if !strings.Contains(text, "=") {
		_, _, err := command.ParseNumbers(text)
		return err == nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		_, value, _ := strings.Cut(pair, "=")
		if _, err := nodes.Parse(value); err != nil {
			return false
		}
	}
	return true
}

// newLogger returns a logger to standard error, without the passwords of
// the store.
func newLogger(e *command.Env, c *serve.Config, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(c.Hide(v))
		case error:
			a.Value = slog.StringValue(c.Hide(server.LogText(v)))
		}
		return a
	}}
	if c.LogJSON {
		return slog.New(slog.NewJSONHandler(e.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(e.Stderr, o))
}

// serverKeys returns the secrets of encrypted namespaces, by namespace.
func serverKeys(e *command.Env, c *serve.Config) (map[string][]*snowfence.Secret, error) {
	keys := map[string][]*snowfence.Secret{}
	for namespace, files := range c.SecretFiles {
		list, err := (&command.SecretFlag{Files: strings.Split(files, ":"), Name: "--secret"}).Keys(e)
		if err != nil {
			return nil, fmt.Errorf("namespace %q: %w", namespace, serve.Explain(err))
		}
		keys[namespace] = list
	}
	for namespace, secrets := range c.Secrets {
		if keys[namespace] != nil {
			return nil, command.Usagef("namespace %q has both secret and secrets: leave one out", namespace)
		}
		for i, text := range secrets {
			key, err := snowfence.ParseSecret([]byte(text))
			if err != nil {
				return nil, command.Usagef("%s: secrets of namespace %q, number %d: %w", c.File, namespace, i+1, err)
			}
			keys[namespace] = append(keys[namespace], key)
		}
	}
	if len(c.Secrets) > 0 {
		command.WarnReadable(e, c.File)
	}
	return keys, nil
}
