package plans

import (
	"bufio"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/show"
)

// planChange proves that no ID of a new layout equals one of those before
// it, or shows one. A refused change is a finding. Of a list of layouts,
// each change is proven against all layouts before it.
func planChange(e *command.Env, f *planFlags, args []string, out *bufio.Writer) error {
	changes, err := plannedChanges(e, f, args)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if err := c.Check(); err != nil {
			return command.Usage(err)
		}
		if f.json {
			err = command.WriteJSON(out, c)
		} else {
			var b []byte
			if i > 0 {
				b = append(b, '\n')
			}
			_, err = out.Write(c.Append(b, e.Now()))
		}
		if err == nil && c.Collision != nil {
			err = command.ErrFindings
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plannedChanges reads the changes of the command line: from A to B, from B
// to C, and so on.
func plannedChanges(e *command.Env, f *planFlags, args []string) ([]*show.Proof, error) {
	if len(args) == 0 {
		return nil, command.Usagef("--change takes two layouts or more: --change A B, where A is the present one")
	}
	if n := len(args); len(f.at) > n || len(f.floor) > n || len(f.at) < n-1 {
		return nil, command.Usagef("%s and %d --at: give one --at for each change, in order; without the last one, "+
			"the last change is now", show.Plural(int64(n), "change"), max(len(f.at), len(f.floor)))
	}
	from, err := show.NewView(f.change)
	if err != nil {
		return nil, command.Usagef("--change, layout A: %w", err)
	}
	reserved, ok := map[string][2]bool{
		"old": {true, false}, "new": {false, true}, "both": {true, true}, "none": {},
	}[f.reserved]
	if !ok {
		return nil, command.Usagef("--reserved %q: choose old, new, both or none: the layouts that have IDs with "+
			"numbers below their first", f.reserved)
	}
	var steps []show.Step
	for i, spec := range args {
		s := show.Step{At: e.Now().UTC()}
		if s.To, err = show.NewView(spec); err != nil {
			return nil, command.Usagef("--change, layout %c: %w", 'B'+rune(min(i, 'Z'-'B')), err)
		}
		if i < len(f.at) {
			if s.At, err = command.ParseTime("at", f.at[i]); err != nil {
				return nil, err
			}
		}
		s.Floor = s.At
		if i < len(f.floor) {
			if s.Floor, err = command.ParseTime("floor", f.floor[i]); err != nil {
				return nil, err
			}
		}
		steps = append(steps, s)
	}
	changes, err := show.Changes(from, steps, reserved[0], reserved[1])
	if err != nil {
		return nil, command.Usagef("--at: %w", err)
	}
	return changes, nil
}
