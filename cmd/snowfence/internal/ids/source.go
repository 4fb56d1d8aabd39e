package ids

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/statefile"
	"github.com/spf13/cobra"
)

// source is the fence of the IDs, and its end.
type source struct {
	fence    snowfence.Fence
	giveBack func() error
	whyLater func(ctx context.Context, g snowfence.Grant) string // why a grant begins later than now, and what helps
}

// checkNew refuses flags of new that are wrong whatever the store says, and
// those that have no meaning together. What stands on the command line
// beats the environment.
func checkNew(e *command.Env, cmd *cobra.Command, f *newFlags) (err error) {
	switch {
	case f.count < 1:
		return command.Usagef("-n %d: give a number of IDs from 1 up", f.count)
	case f.wait < 0:
		return command.Usagef("--wait %v: give a time from 0 up", f.wait)
	}
	if err := checkAt(e, cmd, f); err != nil {
		return err
	}
	if err := filesOrStore(e, cmd, f); err != nil {
		return err
	}
	if err := f.node.check(); err != nil {
		return err
	}
	if f.wanted, err = command.ParseLayout(f.layout); err != nil {
		return err
	}
	switch {
	case f.stateFile == "" && f.after != "":
		return command.Usagef("--state-after is for a state file: add --state-file FILE")
	case f.stateFile == "" && f.slice != "":
		return command.Usagef("--slice is for a state file, because a lease grants the whole sequence of its " +
			"node: add --state-file FILE, or lease a node for each machine")
	case f.stateFile != "" && f.node.node == "":
		return command.Usagef("--state-file keeps one node: add --node N, a number that no other machine uses")
	case f.stateFile == "" && f.stateDir == "":
		if err := command.CheckName(f.store.Namespace); err != nil {
			return err
		}
	}
	return nil
}

// clash is a flag that means nothing beside another one.
type clash struct{ flag, why string }

// notWithFiles are the flags that mean nothing with a state file or a
// folder of them.
var notWithFiles = []clash{
	{"store", "is used instead of a store"},
	{"namespace", "is used instead of a store and its namespaces"},
	{"wait", "does not wait, because its node belongs to this machine alone"},
	{"within", "keeps one node"},
	{"label", "is its own memory, without labels"},
}

// notWithDir are the flags that mean nothing with a folder.
var notWithDir = append([]clash{
	{"state-file", "is a folder of state files"},
	{"node", "finds a node that no other process uses"},
}, notWithFiles...)

// filesOrStore decides between flags that contradict each other.
func filesOrStore(e *command.Env, cmd *cobra.Command, f *newFlags) error {
	if f.stateDir != "" {
		if err := without(e, cmd, "state-dir", &f.stateDir, notWithDir); err != nil {
			return err
		}
	}
	if f.stateFile != "" {
		return without(e, cmd, "state-file", &f.stateFile, notWithFiles)
	}
	return nil
}

// without makes sure that no flag of a list is set beside the flag name.
// The command line beats the environment.
func without(e *command.Env, cmd *cobra.Command, name string, value *string, list []clash) error {
	given := command.Given(cmd, name)
	for _, c := range list {
		switch {
		case !command.Given(cmd, c.flag):
		case given:
			return command.Usagef("--%s %s: leave one of --%s and --%s out", name, c.why, name, c.flag)
		default:
			*value = "" // from the environment: this run is for something else
			return nil
		}
	}
	for _, c := range list {
		flag := cmd.Flags().Lookup(c.flag)
		switch {
		case !flag.Changed:
		case !given:
			return command.Usagef("--%s %s: leave one of %s and %s out of the environment", name, c.why,
				command.EnvName(name),
				command.EnvName(c.flag))
		default:
			if err := flag.Value.Set(flag.DefValue); err != nil {
				return err
			}
		}
	}
	return nil
}

func openSource(ctx context.Context, e *command.Env, f *newFlags) (*source, error) {
	if f.stateFile != "" || f.stateDir != "" {
		return openFiles(ctx, e, f)
	}
	st, err := f.store.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	l, err := openLease(ctx, e, st, f)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &source{
		fence:    l,
		giveBack: func() error { return errors.Join(l.Close(), st.Close()) },
		whyLater: func(ctx context.Context, g snowfence.Grant) string {
			return whyLeasedLater(ctx, st, f, g)
		},
	}, nil
}

// openFiles opens a state file, or one of a folder.
func openFiles(ctx context.Context, e *command.Env, f *newFlags) (*source, error) {
	s, err := f.secret.Scheme(e, f.wanted)
	if err != nil {
		return nil, err
	}
	open := openStateFile
	if f.stateDir != "" {
		open = openStateDir
	}
	fence, err := open(ctx, e, s, f)
	if err != nil {
		return nil, err
	}
	granted, err := sliceOf(fence, f.slice)
	if err != nil {
		return nil, errors.Join(err, fence.Close())
	}
	return &source{
		fence:    granted,
		giveBack: fence.Close,
		whyLater: func(_ context.Context, g snowfence.Grant) string {
			return fmt.Sprintf("the state file says that node %d is used up to %s: the clock was ahead then, "+
				"or is behind now: set it right, or use another node with a new file",
				g.Node, command.FormatTime(f.wanted.TimeOf(g.From)))
		},
	}, nil
}

func openStateDir(_ context.Context, e *command.Env, s *snowfence.Scheme, f *newFlags) (*statefile.Fence, error) {
	if _, err := os.Stat(f.stateDir); errors.Is(err, os.ErrNotExist) {
		e.WarnInContainer("folder")
	}
	return statefile.Folder(f.stateDir, s, snowfence.NodeRange{})
}

func openStateFile(ctx context.Context, e *command.Env, s *snowfence.Scheme, f *newFlags) (*statefile.Fence, error) {
	node, _, err := command.ParseNode(ctx, s, f.node.node)
	if err != nil {
		return nil, err
	}
	if f.after != "" {
		after, err := command.ParseMoment(e, "state-after", f.after)
		if err != nil {
			return nil, err
		}
		if err := statefile.Reset(f.stateFile, s, node, after); err != nil {
			return nil, err
		}
	}
	return statefile.File(f.stateFile, s, node)
}

// sliceOf returns the fence of a slice of a state file, or the file itself.
func sliceOf(file *statefile.Fence, text string) (snowfence.Fence, error) {
	if text == "" {
		return file, nil
	}
	first, last, err := command.ParseNumbers(text)
	if err != nil {
		return nil, command.Usagef("--slice: %w", err)
	}
	part, err := file.SequencePart(first, last)
	if err != nil {
		return nil, command.Usagef("--slice: %w", err)
	}
	return part, nil
}
