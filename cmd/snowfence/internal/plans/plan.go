// Package plans has the commands that plan layouts and sequences, and check
// IDs and numbers.
package plans

import (
	"bufio"

	"github.com/spf13/cobra"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/plan"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// Commands returns the commands of the group.
func Commands(e *command.Env) []*cobra.Command {
	return []*cobra.Command{planCommand(e), auditCommand(e)}
}

// planFlags are the flags of plan, which answers several questions.
type planFlags struct {
	layout, change, epoch string
	at, floor             []string
	rate                  rate
	reserved              string
	beside, slice, until  string
	nodes                 string // a number to find a layout, two ranges for two layouts
	need                  plan.Need
	sequence              planSequenceFlags
	json                  bool
}

func planCommand(e *command.Env) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan [flags] [B…]", Short: "See how long a layout or a sequence lasts, find a layout, or check a change",
		Long: `Plan answers questions about layouts and sequences:

  plan --layout L     how long it lasts, how many IDs it allows, how long they get
  plan --rate …       which layouts hold so many IDs a second, nodes, ranges, tags and years,
                      and what to type to use the first of them
  plan --change A B   whether an ID of layout B can equal one of A; plan proves that none
                      can, or shows such an ID and ends with 3
  plan --change A B C
                      the same for several changes, one after the other; each layout is
                      compared with all before it, not only with the last
  plan --beside A B   whether an ID of A can equal one of B, while both are in use: in
                      different nodes, slices of the sequence, or bits
  plan --sequence S --rate 500/day
                      when the numbers of a sequence run out; with --max in place of
                      --sequence, of one that is not made yet

Sequence numbers below first are reserved, and IDs have them all the same: snow-drift makes 1
to 4 after the clock stepped back, people make 0 by hand. --change counts them where --reserved
says so. --beside counts them, unless --slice says which numbers are used.

A layout is a name or a spec. The names:
` + presetTable() + `
A spec gives the widths of the fields, from the highest bit down:
  time=41,node=10,seq=12,epoch=2020-01-01T00:00:00Z,tick=1ms
In place of node, name the parts of the node: datacenter=5,worker=5. More keys are rollback,
scatter, tag, first and last (the sequence numbers in use), and order=node-first or
order=node-last.`,
		Example: `  snowfence plan --layout twitter
  snowfence plan --rate 500000 --nodes 64 --years 50 --js-safe
  snowfence plan --rate 500000 --nodes 64 --datacenters 3
  snowfence plan --rate 500000 --nodes 64 --scatter 32
  snowfence plan --max 999999 --rate 500/day
  snowfence plan --change twitter sonyflake --at 2027-01-01T00:00:00Z
  snowfence plan --change sonyflake twitter instagram --at 2027-01-01 --at 2028-01-01
  snowfence plan --beside drift drift --nodes 0-29,30-63
  snowfence plan --beside drift drift --nodes 7,7 --slice 5-31,32-63`,
	}
	fs := cmd.Flags()
	fs.StringVar(&f.layout, "layout", "snowfence", "the layout to look at: `name` or spec")
	fs.Var(&f.rate, "rate", "find a layout, or see when a sequence ends: `IDs` or numbers a second, of all nodes "+
		"together; also as in 20/min or 500/day")
	fs.StringVar(&f.nodes, "nodes", "", "find a layout: `number` of processes that make IDs at one time "+
		"(default: 1); two layouts: the nodes of A and of B, as in 0-29,30-63 (default: all)")
	fs.Uint64Var(&f.need.Servers, "servers", 0, "find a layout: `number` of servers that sublet nodes to the "+
		"processes (default: none); more nodes are then needed than processes")
	fs.Uint64Var(&f.need.Datacenters, "datacenters", 0, "find a layout: `number` of data centers that share the "+
		"nodes; the node then has the parts datacenter and worker")
	fs.Uint64Var(&f.need.Scatter, "scatter", 0, "find a layout: `number` of ranges of a database that new rows "+
		"are spread over")
	fs.Uint64Var(&f.need.Tags, "tag", 0, "find a layout: `number` of tags, of which a caller gives one with each "+
		"ID, as for a tenant or a table")
	fs.Float64Var(&f.need.Years, "years", 50, "find a layout: how many `years` it has to last")
	fs.BoolVar(&f.need.JSSafe, "js-safe", false, "find a layout: no ID may pass 2^53-1")
	fs.StringVar(&f.epoch, "epoch", "", "find a layout: its start `time` (default: today)")
	fs.StringVar(&f.change, "change", "", "check the change from layout `A` to the layout in the argument; with "+
		"more of them, each change in turn")
	fs.StringSliceVar(&f.at, "at", nil, "check a change: `time` from which B is used; one for each change, in "+
		"their order (default of the last: now)")
	fs.StringSliceVar(&f.floor, "floor", nil, "check a change: `time` up to which A may have run ahead; one for "+
		"each change (default: --at)")
	f.sequence.register(cmd)
	fs.StringVar(&f.reserved, "reserved", "none", "check a change: the `layouts` that have IDs with numbers "+
		"below their first: old, new, both or none")
	fs.StringVar(&f.beside, "beside", "", "check whether layout `A` and the layout in the argument can be used at "+
		"the same time")
	fs.StringVar(&f.slice, "slice", "", "two layouts: the sequence `numbers` of A and of B, as in 5-31,32-63 "+
		"(default: all)")
	fs.StringVar(&f.until, "until", "", "two layouts: the `time` up to which both are used (default: as long as "+
		"they last)")
	fs.BoolVar(&f.json, "json", false, "one JSON object")
	command.CompleteLayouts(cmd, "layout", "change", "beside")
	cmd.ValidArgsFunction = command.PresetCompletion
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		question, err := questionOf(cmd, args)
		if err != nil {
			return err
		}
		switch question {
		case "change":
			return planChange(e, &f, args, out)
		case "beside":
			return planBeside(e, &f, args, out)
		case "rate":
			f.need.Rate = f.rate.perSecond
			return planNeed(e, &f, out)
		case "sequence", "pattern", "max":
			if cmd.Flags().Changed("max") {
				f.sequence.max = &f.sequence.last
			}
			return planSequence(cmd.Context(), e, &f, out)
		}
		return planLayout(e, &f, out)
	})
	return cmd
}

func presetTable() string {
	var rows show.Rows
	for _, preset := range snowfence.Presets() {
		rows.Add("  "+preset.Name, "%s", preset.About)
	}
	return string(rows.Append(nil))
}

func planLayout(e *command.Env, f *planFlags, out *bufio.Writer) error {
	v, err := show.NewView(f.layout)
	if err != nil {
		return command.Usagef("--layout: %w", err)
	}
	s := plan.Of(v.Layout, e.Now())
	if f.json {
		return command.WriteJSON(out, struct {
			Layout string `json:"layout"`
			plan.Summary
		}{v.Name, s})
	}
	_, err = out.Write(v.Holds(s, e.Now()).Append(nil))
	return err
}
