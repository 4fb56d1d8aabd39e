package ids

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
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
// reads those that need no store.
func checkNew(e *command.Env, cmd *cobra.Command, f *newFlags) (err error) {
	if err := settle(cmd); err != nil {
		return err
	}
	switch {
	case f.count < 1:
		return command.Usagef("-n %d: give a number of IDs from 1 up", f.count)
	case f.wait < 0:
		return command.Usagef("--wait %v: give a time from 0 up", f.wait)
	case f.at == "-" && command.Given(cmd, "count"):
		return command.Usagef("--at - makes an ID for each line of standard input: leave -n out")
	case len(f.node.label) > 128:
		return command.Usagef("--label has %d bytes, more than 128", len(f.node.label))
	case !store.Plain(f.node.label):
		return command.Usagef("--label %q is not UTF-8, or has control characters: leave them out", f.node.label)
	case f.stateFile == "" && f.after != "":
		return command.Usagef("--state-after is for a state file: add --state-file FILE")
	case f.stateFile == "" && f.slice != "":
		return command.Usagef("--slice is for a state file, because a lease grants the whole sequence of its " +
			"node: add --state-file FILE, or lease a node for each machine")
	case f.stateFile != "" && f.node.node == "":
		return command.Usagef("--state-file keeps one node: add --node N, a number that no other machine uses")
	case !f.files():
		if err := command.CheckName(f.store.Namespace); err != nil {
			return err
		}
	}
	if f.slice != "" {
		if f.first, f.last, err = command.ParseNumbers(f.slice); err != nil {
			return command.Usagef("--slice: %w", err)
		}
	}
	if f.wanted, err = command.ParseLayout(f.layout); err != nil {
		return err
	}
	if f.keys, err = f.secret.Keys(e); err != nil {
		return err
	}
	if f.layout != "" || f.files() {
		f.scheme, err = command.SchemeOf(f.wanted, f.keys)
	}
	return err
}

// clash is two flags that mean nothing together.
type clash struct{ flag, other, why string }

const withoutLease = "makes IDs for the past without a lease"

var clashes = [...]clash{
	{"at", "state-file", withoutLease},
	{"at", "state-dir", withoutLease},
	{"at", "state-after", withoutLease},
	{"at", "slice", withoutLease},
	{"at", "within", withoutLease},
	{"at", "label", withoutLease},
	{"at", "wait", withoutLease},
	{"state-dir", "state-file", "is a folder of state files"},
	{"state-dir", "node", "finds a node that no other process uses"},
	{"state-dir", "store", "is used instead of a store"},
	{"state-dir", "namespace", "is used instead of a store and its namespaces"},
	{"state-dir", "wait", "does not wait, because its nodes belong to this machine alone"},
	{"state-dir", "within", "finds a node that no other process uses"},
	{"state-dir", "label", "is its own memory, without labels"},
	{"state-file", "store", "is used instead of a store"},
	{"state-file", "namespace", "is used instead of a store and its namespaces"},
	{"state-file", "wait", "does not wait, because its node belongs to this machine alone"},
	{"state-file", "within", "keeps one node"},
	{"state-file", "label", "is its own memory, without labels"},
	{"within", "node", "is for any free node"},
}

// settle refuses flags that mean nothing together. The command line beats
// the environment, and an empty value counts as none.
func settle(cmd *cobra.Command) error {
	fs := cmd.Flags()
	both := func(c clash) bool {
		return fs.Changed(c.flag) && fs.Changed(c.other) && fs.Lookup(c.flag).Value.String() != "" &&
			fs.Lookup(c.other).Value.String() != ""
	}
	for _, c := range clashes {
		drop := fs.Lookup(c.flag)
		switch given := command.Given(cmd, c.flag); {
		case !both(c) || !given && !command.Given(cmd, c.other):
			continue
		case given && command.Given(cmd, c.other):
			return command.Usagef("--%s %s: leave one of --%s and --%s out", c.flag, c.why, c.flag, c.other)
		case given:
			drop = fs.Lookup(c.other)
		}
		if err := drop.Value.Set(drop.DefValue); err != nil {
			return err
		}
		drop.Changed = false
	}
	for _, c := range clashes {
		if both(c) {
			return command.Usagef("--%s %s: leave one of %s and %s out of the environment", c.flag, c.why,
				command.EnvName(c.flag), command.EnvName(c.other))
		}
	}
	return nil
}

// files reports whether files are used instead of a store.
func (f *newFlags) files() bool { return f.stateFile != "" || f.stateDir != "" }

func openSource(ctx context.Context, e *command.Env, f *newFlags) (*source, error) {
	if f.files() {
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
	open := openStateFile
	if f.stateDir != "" {
		open = openStateDir
	}
	fence, err := open(ctx, e, f)
	if err != nil {
		return nil, err
	}
	granted := snowfence.Fence(fence)
	if f.slice != "" {
		if granted, err = fence.SequencePart(f.first, f.last); err != nil {
			return nil, errors.Join(command.Usagef("--slice: %w", err), fence.Close())
		}
	}
	return &source{
		fence:    granted,
		giveBack: fence.Close,
		whyLater: func(_ context.Context, g snowfence.Grant) string {
			return fmt.Sprintf("the state file says that node %d is used up to %s: the clock was ahead then, "+
				"or is behind now: set it right, or use another node with a new file",
				g.Node, command.FormatTime(fence.Scheme().Layout().TimeOf(g.From)))
		},
	}, nil
}

func openStateDir(_ context.Context, e *command.Env, f *newFlags) (*statefile.Fence, error) {
	if _, err := os.Stat(f.stateDir); errors.Is(err, os.ErrNotExist) {
		e.WarnInContainer("folder")
	}
	return statefile.Folder(f.stateDir, f.scheme, snowfence.NodeRange{})
}

func openStateFile(ctx context.Context, e *command.Env, f *newFlags) (*statefile.Fence, error) {
	node, _, err := command.ParseNode(ctx, f.scheme, f.node.node)
	if err != nil {
		return nil, err
	}
	if f.after != "" {
		after, err := command.ParseMoment(e, "state-after", f.after)
		if err != nil {
			return nil, err
		}
		if err := statefile.Reset(f.stateFile, f.scheme, node, after); err != nil {
			return nil, err
		}
	}
	return statefile.File(f.stateFile, f.scheme, node)
}
