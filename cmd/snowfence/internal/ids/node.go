package ids

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/nodes"
	"github.com/spf13/pflag"
)

// nodeFlags say which node is wanted, and how it is leased.
type nodeFlags struct {
	node   string
	within string
	label  string
}

func (f *nodeFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.node, "node", "", "this `node`, or parts as in 3,7 for datacenter and worker; each a "+
		"number, env:NAME, file:PATH, ordinal (web-7 is 7) "+
		"or ipv4:BITS (default: any free one); a number takes the node over from its holder")
	fs.StringVar(&f.within, "within", "", "any free node of this `range`: datacenter=3, datacenter=env:ZONE, or "+
		"numbers as in 30-63")
	fs.StringVar(&f.label, "label", "", "`name` of the holder, for people; if it stays the same over "+
		"restarts, the node does too, where it is free (default: host/process ID)")
}

// options sets the options of a lease from the flags.
func (f *nodeFlags) options(ctx context.Context, s *snowfence.Scheme, o *lease.Options) (err error) {
	o.Label = f.label
	if f.within != "" {
		if o.Within, err = nodes.Within(ctx, s, f.within); err != nil {
			err = command.Usagef("--within: %s", command.WithoutPackage(err))
		}
		return err
	}
	if f.node == "" {
		return nil
	}
	node, found, err := command.ParseNode(ctx, s, f.node)
	o.Node, o.Guard = &node, found // what is named takes over, what is found does not
	return err
}

// inFlags replaces words of package lease by words of the command line.
var inFlags = strings.NewReplacer(
	"Options.Wait", "--wait 30s", "Options.Within", "--within", "(without Guard)", "(name it by its number)",
)

// leaseError puts the library's errors of nodes that cannot be leased into
// words of the command line.
func leaseError(f *command.StoreFlags, err error) error {
	var taken *lease.TakenError
	list := f.Command("snowfence lease list --all --namespace %s", f.Namespace)
	switch text := inFlags.Replace(command.WithoutPackage(err)); {
	case !errors.As(err, &taken):
		return err
	case taken.Fixed:
		return errors.New(text)
	case taken.Held == 0 && taken.NextFree > 0: // used up ahead of time by clocks that were ahead, and given back
		return fmt.Errorf("no node of namespace %q can be used before %v from now, though none is held: the "+
			"clock was ahead when they were leased, or is behind now; if it is right, wait, or lease more nodes, "+
			"where the layout has more:\n  %s\n  %s\n%s", f.Namespace, taken.NextFree.Round(time.Second), list,
			f.Command("snowfence namespace change %s --leasable RANGE --unused TIME", f.Namespace), show.Unused)
	default:
		return fmt.Errorf("%s; this lists holders and vetoes:\n  %s", text, list)
	}
}
