// Package command has the common parts of the program's commands: their
// environment, the flags of stores and secrets, tables, and errors.
package command

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

// MaxWait is how long a run waits for the clock or the store: longer than
// the ttl of a crashed process (15 s by default) and than the wait after a
// rollback (45 s).
const MaxWait = time.Minute

// Env is the world of the commands in one run of the program.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Vars           map[string]string // the environment
	Now            func() time.Time
	Places         open.Places // of the store of commands that name none
	Args           []string    // of this run

	Log       *slog.Logger             // where messages go when all lines have to be JSON; else nil
	StoreArgs string                   // what makes a command use the store of this run
	Hide      func(text string) string // takes the passwords of the open stores out of messages; nil without one
	Advice    func(err error) string   // what to do about a store that this user may not use; or nil

	lacksPassword bool // StoreArgs lacks a password
}

// New returns the environment of a process.
func New(stdin io.Reader, stdout, stderr io.Writer, environ []string) *Env {
	e := &Env{Stdin: stdin, Stdout: output{stdout}, Stderr: stderr, Vars: map[string]string{}, Now: time.Now}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			e.Vars[name] = value
		}
	}
	e.Places = open.PlacesOf(runtime.GOOS, e.Getenv)
	return e
}

// errNoReader means that the reader of standard output has left.
var errNoReader = errors.New("nobody reads it any more")

// output is standard output. A store's connection can break as a pipe does,
// so only the writer knows whose error it is.
type output struct{ io.Writer }

func (o output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errNoReader
	}
	return n, err
}

// Getenv returns the value of a variable; "" if it is unset.
func (e *Env) Getenv(name string) string { return e.Vars[name] }

// Run adapts the work of a command to cobra: standard output is buffered,
// and flushed whatever happens.
func (e *Env) Run(
	work func(cmd *cobra.Command, args []string, out *bufio.Writer) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		out := bufio.NewWriterSize(e.Stdout, 64<<10)
		err := work(cmd, args, out)
		if flushErr := out.Flush(); flushErr != nil && err == nil {
			err = fmt.Errorf("standard output: %w", flushErr)
		}
		if err != nil {
			return runError{err}
		}
		return nil
	}
}

// Exit says what went wrong, on standard error, and returns the code with
// which the program ends.
func (e *Env) Exit(cmd *cobra.Command, err error) int {
	if b, ok := e.Stderr.(*logBuffer); ok {
		defer b.flush()
	}
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrFindings):
		return ExitFindings
	case errors.Is(err, ErrBadInput):
		return ExitUsage
	case errors.Is(err, errNoReader):
		return ExitOK // the reader has what it wanted
	case errors.Is(err, context.Canceled):
		e.Message("interrupted")
		return ExitInterrupted
	}
	if e.Log == nil && e.logsJSON(cmd) {
		e.Log = slog.New(slog.NewJSONHandler(e.Stderr, nil))
	}
	e.say(slog.LevelError, "%s", WithoutPackage(err))
	if e.Advice != nil && e.Advice(err) != "" {
		e.Message("%s", e.Advice(err))
	}
	switch {
	case !errors.As(err, new(runError)) || errors.As(err, new(usageError)):
		if cmd != nil {
			e.Message("try '%s --help'", cmd.CommandPath())
		}
		return ExitUsage
	case errors.Is(err, snowfence.ErrInvalidLayout), errors.Is(err, snowfence.ErrInvalidID):
		return ExitUsage
	case errors.Is(err, open.ErrNoStore):
		e.Message("if this is the right place, \"snowfence namespace create NAME%s\" or \"snowfence sequence create "+
			"NAME%s\" makes one", e.StoreArgs, e.StoreArgs)
	case errors.Is(err, lease.ErrNoNamespace):
		e.Message("see \"snowfence namespace list%s\"; \"snowfence namespace create NAME%s\" makes one",
			e.StoreArgs, e.StoreArgs)
	}
	return ExitFailed
}

// logsJSON reports whether a command wants its messages as JSON, also where
// its line is wrong.
func (e *Env) logsJSON(cmd *cobra.Command) bool {
	if cmd == nil || cmd.Flags().Lookup("log-json") == nil {
		return false
	}
	env, err := strconv.ParseBool(e.Getenv(EnvName("log-json")))
	return cmd.Flags().Lookup("log-json").Value.String() == "true" || err == nil && env
}

// Message writes a text to standard error, behind the name of the program.
// Further lines stand bare, for people to copy.
func (e *Env) Message(format string, args ...any) { e.say(slog.LevelInfo, format, args...) }

// say is Message at a level of the log.
func (e *Env) say(level slog.Level, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	lacks := e.lacksPassword && strings.Contains(text, e.StoreArgs)
	if e.Hide != nil {
		text = e.Hide(text)
	}
	text = Escaped(text, "\n\t")
	if e.Log != nil {
		e.Log.Log(context.Background(), level, strings.TrimRight(text, "\n"))
		return
	}
	fmt.Fprintln(e.Stderr, "snowfence: "+strings.TrimRight(text, "\n"))
	if lacks {
		fmt.Fprintln(e.Stderr, "snowfence: messages show no passwords: write the store's in place of "+open.Hidden)
	}
}
