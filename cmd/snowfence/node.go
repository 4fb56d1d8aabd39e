package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
	"github.com/spf13/pflag"
)

// nodeFlags say which node is wanted, and how it is leased.
type nodeFlags struct {
	node     string
	within   string
	sticky   string
	label    string
	guard    bool
	takeOver bool
}

func (f *nodeFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.node, "node", "", "this `node`, or parts as in 3,7 for datacenter and worker; each a "+
		"number, env:NAME, file:PATH, ordinal (web-7 is 7) "+
		"or ipv4:BITS (default: any free one)")
	fs.StringVar(&f.within, "within", "", "any free node of this `range`: datacenter=3, datacenter=env:ZONE, or "+
		"numbers as in 30-63")
	fs.StringVar(&f.sticky, "sticky-file", "", "a `file` that remembers the node, which the next run prefers; a "+
		"hint only")
	fs.StringVar(&f.label, "label", "", "`name` of the holder, for people; if it stays the same over "+
		"restarts, the node does too, where it is free (default: host/process ID)")
	fs.BoolVar(&f.guard, "guard", false, "refuse --node while it is held under another label (always so with "+
		"env:, file:, ordinal and ipv4:)")
	fs.BoolVar(&f.takeOver, "take-over", false, "take --node over from its holder (always so with numbers)")
}

// check refuses flags that are wrong whatever the layout and the store say.
func (f *nodeFlags) check() error {
	switch {
	case f.node != "" && f.within != "":
		return usagef("--within is for any free node, and --node is one: leave one of them out")
	case f.node != "" && f.sticky != "":
		return usagef("--sticky-file is for any free node, and --node is one: leave one of them out")
	case f.node == "" && f.guard:
		return usagef("--guard is for one node: add --node")
	case f.node == "" && f.takeOver:
		return usagef("--take-over is for one node: add --node")
	case f.guard && f.takeOver:
		return usagef("--guard refuses what --take-over takes: leave one of them out")
	case len(f.label) > 128:
		return usagef("--label has %d bytes, more than 128", len(f.label))
	case !store.Plain(f.label):
		return usagef("--label %q is not UTF-8, or has control characters: leave them out", f.label)
	}
	return nil
}

// options sets what the flags say of a lease.
func (f *nodeFlags) options(ctx context.Context, s *snowfence.Scheme, o *lease.Options) (err error) {
	o.Label, o.StickyFile = f.label, f.sticky
	if f.within != "" {
		if o.Within, err = nodes.Within(ctx, s, f.within); err != nil {
			err = usagef("--within: %s", withoutPackage(err))
		}
		return err
	}
	if f.node == "" {
		return nil
	}
	node, found, err := parseNode(ctx, s, f.node)
	o.Node, o.Guard = &node, (found || f.guard) && !f.takeOver
	return err
}

// parseNode reads a node number, or the numbers of its parts, each as it is or from its
// source. found tells the latter.
func parseNode(ctx context.Context, s *snowfence.Scheme, text string) (node int64, found bool, err error) {
	var parts []int64
	var sources []nodes.Source
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		src, err := nodes.Parse(part)
		if err != nil {
			return 0, false, usagef("--node: %q is not a number, nor numbers such as 3,7, nor env:NAME, "+
				"file:PATH, ordinal or ipv4:BITS", text)
		}
		sources = append(sources, src)
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			parts = append(parts, n)
		}
	}
	if len(parts) == len(sources) {
		if node, err = s.Node(parts...); err != nil {
			return 0, false, usagef("--node: %s", strings.TrimPrefix(err.Error(), snowfence.ErrInvalidID.Error()+": "))
		}
		return node, false, nil
	}
	if node, err = nodes.Find(ctx, s, sources...); err != nil {
		return 0, true, usagef("--node: %s", withoutPackage(err))
	}
	return node, true, nil
}

// inFlags replaces words of package lease by words of the command line.
var inFlags = strings.NewReplacer(
	"Options.Wait", "--wait 30s", "Options.Within", "--within", "(without Guard)", "(--take-over)",
)

// leaseError says in the words of the command line what the library says of nodes that cannot be
// leased.
func (f *storeFlags) leaseError(err error) error {
	var taken *lease.TakenError
	list := f.command("snowfence lease list --all --namespace %s", f.namespace)
	switch text := inFlags.Replace(withoutPackage(err)); {
	case !errors.As(err, &taken):
		return err
	case taken.Fixed:
		return errors.New(text)
	case taken.Held == 0 && taken.NextFree > 0: // used up ahead of time by clocks that were ahead, and given back
		return fmt.Errorf("no node of namespace %q can be used before %v from now, though none is held: the "+
			"clock was ahead when they were leased, or is behind now; if it is right, wait, or lease more nodes of "+
			"the layout:\n  %s\n  %s", f.namespace, taken.NextFree.Round(time.Second), list,
			f.command("snowfence namespace widen %s --leasable RANGE", f.namespace))
	default:
		return fmt.Errorf("%s; who holds which, and what is vetoed:\n  %s", text, list)
	}
}
