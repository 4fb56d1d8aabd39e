package plans

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

// gapsFlags describe the numbers in which gaps are looked for.
type gapsFlags struct {
	gaps        bool
	start, step int64
	pattern     string
	name        string
	store       command.StoreFlags
}

func (f *gapsFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.gaps, "gaps", false, "numbers of a sequence: what is missing between them is a finding")
	fs.Int64Var(&f.start, "start", 1, "with --gaps: the first `number`, which is missing if it is not there (default: "+
		"the lowest one; with --pattern 1)")
	fs.Lookup("start").DefValue = "0" // its text says what it is
	fs.Int64Var(&f.step, "step", 1, "with --gaps and --start: from each `number` to the next")
	fs.StringVar(&f.pattern, "pattern", "", "with --gaps: the `text` of numbers that begin again each year, month or "+
		"day, as in RE-{year}-{n:6}")
	fs.StringVar(&f.name, "sequence", "", "with --gaps: the `name` of a sequence that has start, step and pattern")
	f.store.Register(fs)
}

// numbering tells the number of a sequence from its ordinal, which the
// audit counts.
type numbering struct {
	d    sequence.Definition
	read func(text string) (sequence.Serial, error) // nil unless it is dated
	bits int                                        // of the ordinal; the period is above
	none bool                                       // ordinals are the numbers
	must bool                                       // --start says that its number is there
}

// numberingOf returns the numbering of the flags; nil without --gaps.
func numberingOf(e *command.Env, cmd *cobra.Command, f *gapsFlags) (*numbering, error) {
	given := func(flag string) bool { return command.Given(cmd, flag) }
	ofNumbers := command.FirstGiven(cmd, "start", "step", "pattern", "sequence")
	ofIDs := command.FirstGiven(cmd, "layout", "namespace", "from", "guess", "nodes", "secret-file")
	switch {
	case !f.gaps && ofNumbers != "":
		return nil, command.Usagef("--%s is for the numbers of a sequence: add --gaps", ofNumbers)
	case !f.gaps:
		return nil, nil
	case ofIDs != "":
		return nil, command.Usagef("--%s is for IDs, and --gaps for numbers of a sequence: leave one of them out",
			ofIDs)
	}
	n := &numbering{d: sequence.Definition{Start: &f.start, Step: f.step, Pattern: f.pattern}, bits: 63}
	dated := f.pattern != ""
	switch {
	case given("sequence") && (given("start") || given("step") || given("pattern")):
		return nil, command.Usagef("--sequence %s has a start, a step and a pattern: leave the others out", f.name)
	case f.step == 0:
		return nil, command.Usagef("--step 0: use a number other than 0")
	case given("step") && !given("start") && !dated:
		return nil, command.Usagef("--step %d needs a first number: add --start", f.step)
	case given("sequence"):
		info, _, err := plannedSequence(cmd.Context(), e, &planSequenceFlags{name: f.name, store: f.store})
		if err != nil {
			return nil, err
		}
		n.d = info.Definition
		dated = n.d.Pattern != ""
	case !given("start") && !dated:
		n.none = true
		return n, nil
	}
	if !dated {
		n.must = given("start")
		return n, nil
	}
	n.bits = 36 // a day has 27 bits
	var err error
	if n.read, err = n.d.Reader(); err != nil {
		return nil, command.Usage(err)
	}
	return n, nil
}

// options sets up an audit of numbers that count up.
func (n *numbering) options(o *audit.Options, format *audit.Format) {
	if n.none {
		return
	}
	o.Counts = n.bits
	format.Parse = n.parse
}

// parse returns the ordinal of a number.
func (n *numbering) parse(text []byte) (snowfence.ID, error) {
	var period, number int64
	if n.read != nil {
		s, err := n.read(string(text))
		if err != nil {
			return 0, errors.New(command.WithoutPackage(err))
		}
		period, number = s.Period, s.N
	} else {
		id, err := snowfence.Decimal.ParseBytes(text)
		if err != nil {
			return 0, err
		}
		number = int64(id)
	}
	start, step := *n.d.Start, n.d.Step
	far, stride := uint64(number)-uint64(start), uint64(step)
	if step < 0 {
		far, stride = -far, -stride
	}
	switch before := step > 0 && number < start || step < 0 && number > start; {
	case before || far%stride != 0:
		return 0, fmt.Errorf("%s is not in the sequence that starts with %d and has the step %d", text, start, step)
	case far/stride >= 1<<n.bits-1:
		return 0, fmt.Errorf("%s is too far from the start for this audit", text)
	}
	return snowfence.ID(uint64(period)<<n.bits | far/stride), nil
}

// text returns the number of an ordinal as it stands in the input.
func (n *numbering) text(id snowfence.ID) string {
	if n.none {
		return strconv.FormatInt(int64(id), 10)
	}
	ordinal := int64(id) & (1<<n.bits - 1)
	number := *n.d.Start + n.d.Step*ordinal
	if n.read != nil {
		one, err := sequence.Serials{Period: int64(id) >> n.bits, First: number, Count: 1}.Of(n.d)
		if err == nil {
			return one.At(0).Text
		}
	}
	return strconv.FormatInt(number, 10)
}
