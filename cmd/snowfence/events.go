package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osuser "os/user"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/trail"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manage registers what a command has that manages a store.
func (f *storeFlags) manage(fs *pflag.FlagSet, action string) {
	f.action = action
	fs.StringVar(&f.reason, "reason", "", "why, as a `text` for people, who see it in \"snowfence events\"")
}

// record has a store write down what is changed through it, and by whom.
func (p *program) record(ctx context.Context, st *open.Store, f *storeFlags) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	name := fmt.Sprintf("uid %d", os.Getuid())
	if u, err := osuser.Current(); err == nil {
		name = u.Username
	}
	st.Record(ctx, trail.Actor{Action: f.action, Who: name + "@" + host, From: host, Reason: f.reason},
		func(err error) { p.message("this is done, but its event does not say so: %s", withoutPackage(err)) })
}

func (p *program) eventsCommand() *cobra.Command {
	name := ""
	cmd := &cobra.Command{
		Use: "events [NAME]", Short: "List who managed namespaces and sequences, and what was changed",
		Long: `Events lists what was done to namespaces and sequences, by commands and through servers:
when, what, by whom, from where, why, and each value before and after. With NAME it lists
those of the namespace and the sequence of that name. The store keeps the last 100 of each,
fewer if they are long. The list has the last 1,000.

The time is the store's, if it has a clock. An event is written before its action. It says "not
known to be done" until the action has ended, and for good if the program or the store failed
before.`,
		Example: "  snowfence events\n  snowfence events orders --json",
	}
	cmd = p.listCommand(cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := trail.List(ctx, st.Leases, name, func(*pb.Event) bool { return true })
		if err == nil && len(list) == 0 && !asJSON {
			p.message("nobody has managed anything in %s", st.Name)
		}
		for _, e := range list {
			if err == nil && asJSON {
				err = writeJSON(out, e)
			} else if err == nil {
				_, err = out.WriteString(eventText(e))
			}
		}
		return err
	})
	cmd.Args = cobra.MaximumNArgs(1)
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			name = args[0]
		}
		return work(cmd, args)
	}
	return cmd
}

// eventText is a line of an event, and one for each change.
func eventText(e *pb.Event) string {
	text := e.At.AsTime().Format(time.RFC3339) + "  " + e.Action
	if name := e.Namespace + e.Sequence; name != "" {
		text += " " + name
	}
	if e.Node != nil {
		text += fmt.Sprintf(" node %d", *e.Node)
	}
	text += ", by " + e.Who
	if e.From != "" && !strings.HasSuffix(e.Who, "@"+e.From) {
		text += " from " + e.From
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if !e.Done {
		text += " (not known to be done)"
	}
	text = escaped(text, "") + "\n"
	for _, c := range e.Changes {
		line := c.Field + ": " + c.After
		if c.Before != "" {
			line = c.Field + ": " + c.Before + " -> " + c.After
		}
		text += "  " + escaped(line, "") + "\n"
	}
	return text
}
