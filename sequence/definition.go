package sequence

import (
	"cmp"
	"fmt"

	"github.com/snowfence/snowfence/lease"
)

// Mode is the promise of a sequence about its numbers, besides that each
// comes once.
type Mode string

const (
	// Fast numbers rise within a process. A stop or a crash leaves a gap.
	Fast Mode = "fast"

	// Dense is as fast, takes small ranges, and gives the rest back when it
	// is closed. A crash leaves a gap. So does a close after another
	// program has taken later numbers.
	Dense Mode = "dense"

	// Strict numbers rise over all programs: a call that begins after
	// another one ended gets a higher number. Each call waits for a write
	// to the store, and one write serves all calls that wait. A lost
	// answer, a call that gives up, or a Reserve beyond Max leaves a gap.
	Strict Mode = "strict"
)

// Values of [Definition].AfterFailover, for a store that may have lost
// numbers that were given out. Stop stops the sequence, Trust trusts the
// store, and a positive value skips that many numbers once.
const (
	Stop  = 0
	Trust = -1
)

// Definition says which numbers a sequence has. The zero value is 1, 2, 3,
// … up to 2^53 − 1, beyond which JavaScript rounds. Mode, Start, Step,
// Pattern and Zone never change. To have others, make another sequence that
// starts above this one.
type Definition struct {
	Mode  Mode   `json:"mode"`            // "" means Fast, of a dated sequence Dense
	Start *int64 `json:"start,omitempty"` // the first number; nil means 1
	Step  int64  `json:"step"`            // from a number to the next, negative to count down; 0 means 1

	// Pattern makes the sequence dated: its numbers begin again each year,
	// quarter, month, week or day, and have texts such as RE-{year}-{n:6}.
	// See [OpenDated]. Zone is the IANA name of the zone of the date; ""
	// means UTC. Neither ever changes.
	Pattern string `json:"pattern,omitempty"`
	Zone    string `json:"zone,omitempty"`

	// Max is the last number that may be given out, in the direction of
	// Step. Nil means 2^53 − 1, or 2^63 − 1 where Start is beyond that;
	// negative if Step is.
	Max *int64 `json:"max,omitempty"`

	// MinRange and MaxRange bound how many numbers a program takes at once.
	// 0 means 1,000 and 1,000,000. Within these bounds a program takes
	// ranges that last 15 to 30 minutes, or a minute or two if the mode is
	// Dense.
	MinRange int64 `json:"min_range"`
	MaxRange int64 `json:"max_range"`

	// AfterFailover is the reaction to a store that may have lost numbers:
	// [Stop], [Trust], or how many numbers to skip.
	AfterFailover int64 `json:"after_failover"`
}

const (
	exactInJavaScript = 1<<53 - 1
	usualMinRange     = 1_000
	usualMaxRange     = 1_000_000
	largestRange      = 1_000_000_000
)

// withDefaults returns the definition with every default written out, and
// the course of its numbers.
func (d Definition) withDefaults() (Definition, course, error) {
	c := course{start: *cmp.Or(d.Start, new(int64(1))), step: cmp.Or(d.Step, 1)}
	switch {
	case d.Mode == "" && d.Pattern != "":
		d.Mode = Dense // people look for gaps in dated numbers
	case d.Mode == "":
		d.Mode = Fast
	}
	last := c.farthestNumber()
	if d.Pattern != "" {
		p, err := parsePattern(d.Pattern)
		if err != nil {
			return d, c, err
		}
		if c.start < 0 || c.step < 1 || d.Max != nil && *d.Max > p.most {
			return d, c, fmt.Errorf("start %d, step %d, max %d: numbers of pattern %q rise from 0 or above, up to "+
				"%d (%w)", c.start, c.step, *cmp.Or(d.Max, &last), d.Pattern, p.most, lease.ErrInvalid)
		}
		last = min(last, p.most)
		d.Zone = cmp.Or(d.Zone, "UTC")
	} else if d.Zone != "" {
		return d, c, fmt.Errorf("zone %q without a pattern: only dated sequences have a zone (%w)", d.Zone,
			lease.ErrInvalid)
	}
	last = *cmp.Or(d.Max, &last)
	if d.MinRange == 0 {
		d.MinRange = usualMinRange
		if d.MaxRange > 0 {
			d.MinRange = min(usualMinRange, d.MaxRange)
		}
	}
	d.MaxRange = cmp.Or(d.MaxRange, max(usualMaxRange, d.MinRange))
	switch {
	case d.Mode != Fast && d.Mode != Dense && d.Mode != Strict:
		return d, c, fmt.Errorf("the mode is %q: use fast, dense or strict (%w)", d.Mode, lease.ErrInvalid)
	case d.MinRange < 1 || d.MinRange > d.MaxRange || d.MaxRange > largestRange:
		return d, c, fmt.Errorf("the ranges are from %d to %d numbers: use 1 to %d, the smaller one first (%w)",
			d.MinRange, d.MaxRange, largestRange, lease.ErrInvalid)
	case d.AfterFailover < Trust:
		return d, c, fmt.Errorf("%d numbers are skipped after a failover: use 1 or more, or Stop or Trust (%w)",
			d.AfterFailover, lease.ErrInvalid)
	}
	c, err := c.upTo(last)
	d.Start, d.Step, d.Max = &c.start, c.step, &last
	return d, c, err
}

// firstDifference names the first part of a wanted definition that differs
// here; "" if none does. A changeable part that wanted leaves out differs
// from nothing. full is wanted with all parts.
func (d Definition) firstDifference(wanted, full Definition) string {
	for _, part := range []struct {
		name      string
		is, asked any
		given     bool
	}{
		{"mode", d.Mode, full.Mode, true},
		{"start", *d.Start, *full.Start, true},
		{"step", d.Step, full.Step, true},
		{"pattern", d.Pattern, full.Pattern, true},
		{"zone", d.Zone, full.Zone, true},
		{"max", *d.Max, *full.Max, wanted.Max != nil},
		{"smallest range", d.MinRange, full.MinRange, wanted.MinRange != 0},
		{"largest range", d.MaxRange, full.MaxRange, wanted.MaxRange != 0},
		{"action after a failover", d.AfterFailover, full.AfterFailover, wanted.AfterFailover != 0},
	} {
		if part.given && part.is != part.asked {
			return fmt.Sprintf("its %s is %v, not %v", part.name, part.is, part.asked)
		}
	}
	return ""
}
