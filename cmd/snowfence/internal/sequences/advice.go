package sequences

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// advisedError is an error of package sequence with commands that mend it.
type advisedError struct {
	text string
	err  error
}

func (e advisedError) Error() string { return e.text }

func (e advisedError) Unwrap() error { return e.err }

// sequenceError says in the words of the command line what to do about an
// error of the library.
func sequenceError(e *command.Env, name string, err error) error {
	switch {
	case errors.As(err, new(advisedError)):
		return err
	case errors.Is(err, lease.ErrInvalid), errors.Is(err, lease.ErrRefused), errors.Is(err, sequence.ErrPeriod):
		return command.Usage(advise(e, err))
	case errors.Is(err, sequence.ErrNoSequence):
		return advise(e, err, "list", "create "+name)
	case errors.Is(err, sequence.ErrEnded) && strings.Contains(err.Error(), "raise max"):
		return advise(e, err, "change "+name+" --max N")
	case errors.Is(err, sequence.ErrRolledBack):
		err = fmt.Errorf("%w: N is that floor, or with --used the highest number that any caller got or "+
			"a program's error names; P is how many programs took numbers that the store lost, also stopped ones", err)
		return advise(e, err, "confirm "+name+" --floor N", "confirm "+name+" --used N --programs P")
	}
	return err
}

// advise adds subcommands of sequence to an error, on the store of this
// run.
func advise(e *command.Env, err error, commands ...string) error {
	text := err.Error()
	for i, c := range commands {
		if i == 0 {
			text += ":"
		}
		text += "\n  snowfence sequence " + c + e.StoreArgs
	}
	return advisedError{text, err}
}
