package command

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
)

// ParseLayout reads --layout; "" is the layout of a new namespace.
func ParseLayout(spec string) (snowfence.Layout, error) {
	if spec == "" {
		return snowfence.Default(), nil
	}
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return l, Usagef("--layout: %w", err)
	}
	return l, nil
}

// ParseNode reads a node number, or the numbers of its parts, each as it is
// or from its source. found tells the latter.
func ParseNode(ctx context.Context, s *snowfence.Scheme, text string) (node int64, found bool, err error) {
	var parts []int64
	var sources []nodes.Source
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		src, err := nodes.Parse(part)
		if err != nil {
			return 0, false, Usagef("--node: %q is not a number, nor numbers such as 3,7, nor env:NAME, "+
				"file:PATH, ordinal or ipv4:BITS", text)
		}
		sources = append(sources, src)
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			parts = append(parts, n)
		}
	}
	if len(parts) == len(sources) {
		if node, err = s.Node(parts...); err != nil {
			return 0, false, Usagef("--node: %s", strings.TrimPrefix(err.Error(), snowfence.ErrInvalidID.Error()+": "))
		}
		return node, false, nil
	}
	if node, err = nodes.Find(ctx, s, sources...); err != nil {
		return 0, true, Usagef("--node: %s", WithoutPackage(err))
	}
	return node, true, nil
}

// ParseNumbers reads a range of numbers, as in 30-63, or one number.
func ParseNumbers(text string) (first, last int64, err error) {
	a, b, two := strings.Cut(strings.TrimSpace(text), "-")
	if !two {
		b = a
	}
	first, err = strconv.ParseInt(a, 10, 64)
	if err == nil {
		last, err = strconv.ParseInt(b, 10, 64)
	}
	if err != nil || first < 0 || last < first || last >= 1<<62 {
		return 0, 0, fmt.Errorf("%q: give a range such as 30-63, or one number", text)
	}
	return first, last, nil
}

// ParseRange reads the nodes of a flag: a range, or one node.
func ParseRange(flag, text string) (r snowfence.NodeRange, err error) {
	first, last, err := ParseNumbers(text)
	if err != nil {
		return r, Usagef("--%s: %q: give a range such as 512-1023, or one node", flag, text)
	}
	return snowfence.NodeRange{From: first, Until: last + 1}, nil
}

// ParseTime reads a time as people write it to a flag.
func ParseTime(flag, text string) (time.Time, error) {
	t, err := show.ParseTime(text)
	if err != nil {
		return t, Usagef("--%s: %w", flag, err)
	}
	return t, nil
}

// ParseMoment reads a time, or how long it is until then.
func ParseMoment(e *Env, flag, text string) (time.Time, error) {
	days, ok := strings.CutSuffix(text, "d")
	if n, err := strconv.ParseUint(days, 10, 16); ok && err == nil {
		return e.Now().AddDate(0, 0, int(n)), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return e.Now().Add(d), nil
	}
	t, err := show.ReadTime(text)
	if err != nil {
		err = Usagef("--%s %q: write a time as 2027-01-31T12:00:00Z or 2027-01-31, or how long from now, as 90d or 12h",
			flag, text)
	}
	return t, err
}

// FormatTime writes a time to the second.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func NodeRange(first, last int64) string { return fmt.Sprintf("%d-%d", first, last) }

var ValidName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`)

// CheckName refuses a wrong name of a namespace before a store is asked: a
// mistake on the command line is no failure of the store.
func CheckName(name string) error {
	if !ValidName.MatchString(name) {
		return Usagef("namespace %q: a name has 1 to 64 letters, digits, '-', '_' and '.'", name)
	}
	if err := store.CheckName(name); err != nil { // such as ".."
		return Usage(err)
	}
	return nil
}

// Quoted returns a text as one word of a shell.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// OtherName returns the name of a namespace for a layout, other than the
// taken one.
func OtherName(taken, layout string) string {
	if strings.Contains(layout, "=") || layout == taken {
		return taken + "-2"
	}
	return layout
}
