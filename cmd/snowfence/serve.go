package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

// serveFlags are those of the server, but for what serve.Config has itself.
type serveFlags struct {
	store    storeFlags
	config   serve.Config
	secrets  map[string]string // files of secrets, by namespace
	logJSON  bool
	logDebug bool
	check    bool
}

func (p *program) serveCommand() *cobra.Command {
	f := serveFlags{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve IDs and leases over HTTP, gRPC and the Redis protocol", Args: cobra.NoArgs,
		Long: `Serve makes IDs for programs in any language, and leases nodes to those that make IDs
themselves. IDs are unique within one namespace of one store: servers over one store may be
as many as you like. Without --store that is a file in your state folder, which serves this
machine; its namespace "default" is made when it is not there. On shared stores, make
namespaces with "snowfence namespace create".`,
		Example: `  snowfence serve
  curl http://127.0.0.1:8080/v1/default/next
  redis-cli -p 6380 SNOWFENCE.NEXT default`,
	}
	fs, c := cmd.Flags(), &f.config
	f.store.registerStore(fs)
	fs.StringVar(&c.HTTP, "http", "127.0.0.1:8080", "`address` of HTTP and gRPC; empty for none")
	fs.StringVar(&c.RESP, "resp", "127.0.0.1:6380", "`address` of the Redis protocol; empty for none")
	fs.StringVar(&c.Admin, "admin", "", "`address` of metrics and profiles (default: none)")
	fs.StringVar(&c.TLSCert, "tls-cert", "", "`file` of the certificate chain, in PEM form; it is read again when it changes")
	fs.StringVar(&c.TLSKey, "tls-key", "", "`file` of its key")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of the authorities of client certificates, which are then wanted")
	fs.StringVar(&c.Tokens, "tokens", "", "`file` of the tokens that clients need; it is read again when it changes (see \"snowfence token\")")
	fs.BoolVar(&c.OpenToNetwork, "open-to-network", false, "listen on addresses that other machines reach, although there is no TLS or everybody may do everything")
	fs.IntVar(&c.MaxConns, "max-connections", 20_000, "the most clients at a `time`")
	fs.DurationVar(&c.Slow, "slow", 10*time.Second, "how long a client may take to send the rest of a request, or to take its answer")
	fs.DurationVar(&c.Idle, "idle", 0, "how long a client of the Redis protocol may be silent; 0 is for ever")
	fs.DurationVar(&c.Stop, "stop-timeout", 10*time.Second, "how long a stop may take")
	fs.IntVar(&c.Service.Block, "block", 0, "how many `nodes` the server leases in each namespace, a power of two (default: a 64th of them, at most 16)")
	fs.Int64Var(&c.Service.Lead, "lead", 0, "how many `ticks` IDs may run ahead of the clock in a burst")
	fs.DurationVar(&c.Service.TTL, "ttl", 15*time.Second, "how far ahead the server leases its own nodes")
	fs.DurationVar(&c.Service.MaxWait, "max-wait", time.Second, "how long a request waits for the clock or a lease")
	fs.StringVar(&c.Service.Label, "label", "", "what people see as the holder of the server's nodes (default: host and process)")
	fs.StringToStringVar(&f.secrets, "secret", nil, "secrets of encrypted namespaces, as `NAMESPACE=FILE`; with rotated keys FILE1:FILE2, oldest first")
	fs.BoolVar(&c.Service.HandOut, "hand-out-secrets", false, "give the secrets of encrypted namespaces to those who hold leases in them")
	fs.BoolVar(&f.logJSON, "log-json", false, "log JSON")
	fs.BoolVar(&f.logDebug, "log-debug", false, "log more")
	fs.BoolVar(&f.check, "check-config", false, "check the configuration and end")
	cmd.RunE = p.runs(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		return p.serve(cmd.Context(), &f, out)
	})
	return cmd
}

func (p *program) serve(ctx context.Context, f *serveFlags, out *bufio.Writer) error {
	c := f.config
	c.Version = readVersion().Version
	c.Logger = p.logger(f)
	keys, err := p.serverKeys(f.secrets)
	if err != nil {
		return err
	}
	c.Service.Keys = func(namespace string) ([]*snowfence.Key, error) { return keys[namespace], nil }
	if err := c.Check(); err != nil {
		return usageError{err}
	}
	if f.check {
		fmt.Fprintln(out, "ok")
		return nil
	}
	st, err := p.openStore(ctx, &f.store)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := p.firstNamespace(ctx, st); err != nil {
		return err
	}
	s, err := serve.Start(context.WithoutCancel(ctx), c, st.Leases)
	if err != nil {
		return err
	}
	p.announce(s, st)
	select {
	case <-ctx.Done():
		p.message("stopping")
		err = nil
	case err = <-s.Failed():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Stop)
	defer cancel()
	return errors.Join(err, s.Stop(stop))
}

func (p *program) logger(f *serveFlags) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.logDebug {
		o.Level = slog.LevelDebug
	}
	if f.logJSON {
		return slog.New(slog.NewJSONHandler(p.stderr, o))
	}
	return slog.New(slog.NewTextHandler(p.stderr, o))
}

func (p *program) serverKeys(secrets map[string]string) (map[string][]*snowfence.Key, error) {
	keys := map[string][]*snowfence.Key{}
	for namespace, files := range secrets {
		list, err := p.keys(&secretFlag{files: strings.Split(files, ":")})
		if err != nil {
			return nil, err
		}
		keys[namespace] = list
	}
	return keys, nil
}

// firstNamespace makes the namespace default where the store belongs to this machine and has none.
func (p *program) firstNamespace(ctx context.Context, st *open.Store) error {
	if !st.Local {
		return nil
	}
	_, err := lease.ShowNamespace(ctx, st.Leases, "default")
	if !errors.Is(err, lease.ErrNoNamespace) {
		return err
	}
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		return err
	}
	_, err = lease.CreateNamespace(ctx, st.Leases, "default", s, nil)
	var other *lease.MismatchError
	if errors.As(err, &other) { // another process was first
		return nil
	}
	return err
}

// announce says where the server listens, how to try it, and whom the promise covers.
func (p *program) announce(s *serve.Process, st *open.Store) {
	scheme := "http"
	if s.TLS() {
		scheme = "https"
	}
	if s.HTTP != "" {
		p.message("HTTP, gRPC and Connect on %s://%s    try: curl %s://%s/v1/default/next", scheme, s.HTTP, scheme, s.HTTP)
	}
	if s.HTTP != "" {
		p.message("dashboard on %s://%s", scheme, s.HTTP)
	}
	if s.RESP != "" {
		host, port, _ := strings.Cut(s.RESP, ":")
		p.message("Redis protocol on %s    try: redis-cli -h %s -p %s SNOWFENCE.NEXT default", s.RESP, host, port)
	}
	if s.Admin != "" {
		p.message("metrics and profiles on http://%s", s.Admin)
	}
	p.message("IDs are unique within one namespace of %s, whoever makes them", st.Name)
	if st.Volatile {
		p.message("that store is in memory and ends with this process: what is made after a restart is not covered")
	}
}
