package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2   // bad flags, arguments or input
	exitFindings    = 3   // the answer is no: a refused change, a need that cannot be met
	exitInterrupted = 130 // Ctrl-C or SIGTERM, as shells have it; what was made is written and leases are given back
)

// program is what every subcommand has of the world.
type program struct {
	stdin            io.Reader
	stdout, stderr   io.Writer
	env              map[string]string
	args             []string // of this run
	now              func() time.Time
	fromEnv          map[string]bool          // flags of this run that were set by the environment
	log              *slog.Logger             // where messages go when all lines have to be JSON; else nil
	lacksPassword    bool                     // sameStore lacks a password
	storeArgs        string                   // what makes a command use the store of this run
	hide             func(text string) string // takes the passwords of the open store out of messages; nil without one
	places           open.Places              // of the store of commands that name none
	permissionAdvice func(err error) string   // what to do about a store that this user may not use; or nil
}

// newProgram returns the program of an environment.
func newProgram(stdin io.Reader, stdout, stderr io.Writer, environ []string) *program {
	p := &program{
		stdin: stdin, stdout: stdout, stderr: stderr, env: map[string]string{}, now: time.Now,
		fromEnv: map[string]bool{},
	}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			p.env[name] = value
		}
	}
	p.places = open.PlacesOf(runtime.GOOS, func(name string) string { return p.env[name] })
	return p
}

// run is the whole program but for its signals. It returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	p.args = p.moveIDsLast(root, args)
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	code := p.exitCode(cmd, err)
	if b, ok := p.stderr.(*logBuffer); ok {
		b.flush()
		p.stderr = b.to
	}
	return code
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "snowfence",
		Short: "Unique 64-bit IDs: make them, take them apart, plan them",
		Long: `Snowfence makes 64-bit IDs that are unique within one namespace of one store, over
crashes and clock steps, takes IDs of any Snowflake-like system apart, and plans layouts.

Every flag can be set in the environment: SNOWFENCE_STORE for --store, and so on.
Data goes to standard output, messages to standard error.
Exit codes: 0 ok, 1 failed, 2 usage or bad input, 3 findings (a refused change),
130 interrupted.`,
		Example: `  snowfence new -n 5
  snowfence decode 2104672976770170879
  snowfence plan --layout sonyflake`,
		Version:           readVersion().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.applyEnv(cmd.Flags()) },
	}
	root.SetUsageFunc(wrapped(root.UsageFunc()))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"ids", "IDs and numbers:", []*cobra.Command{
			p.newCommand(), p.decodeCommand(), p.rangeCommand(), p.auditCommand(), p.sequenceCommand(),
		}},
		{"store", "Stores:", []*cobra.Command{
			p.namespaceCommand(), p.leaseCommand(), p.storeCommand(), p.sqlCommand(),
			p.doctorCommand(),
		}},
		{"server", "Servers:", []*cobra.Command{
			p.serveCommand(), p.agentCommand(), p.serversCommand(), p.tokenCommand(),
		}},
		{"plan", "Before you start:", []*cobra.Command{p.planCommand(), p.secretCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(p.versionCommand(), storesTopic())
	return root
}

// group makes a command that only holds others.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q for %q", args[0], cmd.CommandPath())
		}
		return cmd.Help()
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// usageError is a mistake in flags, arguments or input.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// runError marks what a subcommand itself returned; anything else comes from the parsing
// of its command line.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// errFindings ends the program with exit code 3. What was found has been printed.
var errFindings = errors.New("findings")

// errBadInput ends the program with exit code 2 after a stream with bad lines, which were
// reported one by one.
var errBadInput = errors.New("bad input")

// runE adapts the work of a subcommand to cobra: standard output is buffered, and flushed
// whatever happens.
func (p *program) runE(
	work func(cmd *cobra.Command, args []string, out *bufio.Writer) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		out := bufio.NewWriterSize(p.stdout, 64<<10)
		err := work(cmd, args, out)
		if flushErr := out.Flush(); flushErr != nil && (err == nil || errors.Is(flushErr, syscall.EPIPE)) {
			err = fmt.Errorf("standard output: %w", flushErr)
		}
		if err != nil {
			return runError{err}
		}
		return nil
	}
}

// exitCode says what went wrong, on standard error, and with which code the program ends.
func (p *program) exitCode(cmd *cobra.Command, err error) int {
	var own runError
	ours := errors.As(err, &own)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errBadInput):
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has what it wanted
	case errors.Is(err, context.Canceled):
		p.message("interrupted")
		return exitInterrupted
	}
	if p.log == nil && p.logsJSON(cmd) {
		p.log = slog.New(slog.NewJSONHandler(p.stderr, nil))
	}
	p.say(slog.LevelError, "%s", withoutPackage(err))
	if p.permissionAdvice != nil {
		if advice := p.permissionAdvice(err); advice != "" {
			p.message("%s", advice)
		}
	}
	var usage usageError
	switch {
	case !ours || errors.As(err, &usage):
		if cmd != nil {
			p.message("try '%s --help'", cmd.CommandPath())
		}
		return exitUsage
	case errors.Is(err, snowfence.ErrInvalidLayout), errors.Is(err, snowfence.ErrInvalidID):
		return exitUsage
	case errors.Is(err, open.ErrNoStore):
		p.message("if this is the right place, \"snowfence namespace create NAME%s\" or \"snowfence sequence create "+
			"NAME%s\" makes one", p.storeArgs, p.storeArgs)
	case errors.Is(err, lease.ErrNoNamespace):
		p.message("see \"snowfence namespace list%s\"; \"snowfence namespace create NAME%s\" makes one",
			p.storeArgs, p.storeArgs)
	}
	return exitFailed
}

// logsJSON reports whether a command wants its messages as JSON, also where its line is wrong.
func (p *program) logsJSON(cmd *cobra.Command) bool {
	if cmd == nil || cmd.Flags().Lookup("log-json") == nil {
		return false
	}
	env, err := strconv.ParseBool(p.env[envName("log-json")])
	return cmd.Flags().Lookup("log-json").Value.String() == "true" || err == nil && env
}

// withoutPackage is the text of an error without the name of the package it comes from.
func withoutPackage(err error) string {
	text := err.Error()
	for _, name := range []string{
		"snowfence: ", "nodes: ", "lease: ", "sequence: ", "sqlstore: ", "redisstore: ", "etcdstore: ", "kubestore: ",
		"dynamostore: ", "s3store: ",
	} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// message writes a text to standard error, behind the name of the program. Further lines
// stand bare, for people to copy.
func (p *program) message(format string, args ...any) { p.say(slog.LevelInfo, format, args...) }

// say is message at a level of the log.
func (p *program) say(level slog.Level, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	lacks := p.lacksPassword && strings.Contains(text, p.storeArgs)
	if p.hide != nil {
		text = p.hide(text)
	}
	text = escaped(text, "\n\t")
	if p.log != nil {
		p.log.Log(context.Background(), level, strings.TrimRight(text, "\n"))
		return
	}
	fmt.Fprintln(p.stderr, "snowfence: "+strings.TrimRight(text, "\n"))
	if lacks {
		fmt.Fprintln(p.stderr, "snowfence: messages show no passwords: write the store's in place of "+open.Hidden)
	}
}
