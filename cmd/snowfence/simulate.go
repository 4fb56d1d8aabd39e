package main

import (
	"bufio"
	"fmt"
	"runtime"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lab/simulate"
	"github.com/spf13/cobra"
)

type simulateFlags struct {
	seed  uint64
	hours float64
	json  bool
}

func (p *program) simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run generators and takers of numbers under faults, and check that nothing collides",
		Long: `Simulate runs fleets of generators on a store, in virtual time: clocks that drift, jump and
freeze, pauses, crashes, partitions, requests and replies that are lost, late or doubled,
stores that are rolled back, snapshots that are resumed twice, operators. It is the code of
the library itself that runs. Every ID is checked: that it is new, in order, and inside
one grant that the store had acknowledged; and when the faults end, that every process
makes IDs again within a bound.

In the same way it runs programs that take numbers of sequences, in all modes, plain and dated
over a midnight, with operators who change, delete and confirm them.
Every number is checked: that no other call got it, that it is of a take that the store had
acknowledged, that numbers rise in a program, and in a strict sequence over all programs.

Counted as unseen, and not as collisions, are IDs made twice in the time that no lease can
see, each within its bound:
  - A machine is resumed twice from one snapshot: until the second copy renews, and never
    beyond the end of the grant that both hold.
  - The snapshot was taken while a node was acquired or renewed: the same, for the new
    grant of both.
  - A store is rolled back and looks like the one before: what is granted again until the
    forgotten holder notices at its next renewal.
  - The layout is changed on a store that was rolled back in this way: the same.

Of sequences, "repeated" counts numbers that came twice where no program can see it: a machine was
resumed twice, or a store was rolled back and looks like the one before, or lost more than the
sequence is told to allow for.

One seed is one run of 12 virtual minutes and some for the recovery; more hours are more
runs, with the seeds after it. The same seed always gives the same run. If something
collides, the run is reduced to the steps that matter, these are printed, and the exit
code is 3.`,
		Example: `  snowfence simulate
  snowfence simulate --seed 7 --hours 100 --json`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	fs.Uint64Var(&f.seed, "seed", 1, "first `seed`")
	fs.Float64Var(&f.hours, "hours", 1, "virtual `hours` under faults, all runs together")
	fs.BoolVar(&f.json, "json", false, "one JSON object")
	cmd.RunE = p.runE(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		if !(f.hours > 0 && f.hours <= 1e6) {
			return usagef("--hours is %v: it is a number from above 0 to 1,000,000", f.hours)
		}
		runs := tally{total: int64(simulate.Seeds(f.hours))}
		told := func(t simulate.Figures) { runs.done.Store(int64(t.Seeds)) }
		defer p.showProgress(&runs).end()
		figures, bad, err := simulate.Fleets(cmd.Context(), f.seed, f.hours, runtime.GOMAXPROCS(0), told)
		if err != nil {
			return err
		}
		return writeSimulation(out, &f, figures, bad)
	})
	return cmd
}

func writeSimulation(out *bufio.Writer, f *simulateFlags, t *simulate.Figures, bad *simulate.Collision) error {
	var err error
	if f.json {
		err = writeJSON(out, newSimulation(f, t, bad))
	} else {
		fmt.Fprintf(out, "%s\n\n", verdict(t, bad))
		_, err = out.Write(simulationRows(f, t).Append(nil))
		if bad != nil {
			fmt.Fprintf(out, "\nThe steps that are left of it:\n")
			for _, step := range bad.Steps {
				fmt.Fprintln(out, step)
			}
		}
	}
	if err == nil && bad != nil {
		return errFindings
	}
	return err
}

// verdict is what people want to know first.
func verdict(t *simulate.Figures, bad *simulate.Collision) string {
	if bad != nil {
		return fmt.Sprintf("FAILED: %v", bad)
	}
	text := "PASSED: 0 duplicates"
	if n := t.Unseen + t.Repeated; n > 0 {
		text += fmt.Sprintf("; %s inside the documented windows (snowfence simulate --help)", show.Thousands(n))
	}
	return text
}

func simulationRows(f *simulateFlags, t *simulate.Figures) show.Rows {
	rows := show.Rows{
		{"seeds", fmt.Sprintf("%d to %d", f.seed, f.seed+uint64(max(t.Seeds, 1))-1)},
		{"virtual time", fmt.Sprintf("%.1f h", t.Virtual.Hours())},
	}
	add := func(name string, n int64, about string) {
		rows.Add(name, "%s%s", show.Thousands(n), about)
	}
	add("processes", t.Processes, "")
	add("grants", t.Grants, "")
	add("renewals", t.Renewals, "")
	add("store calls", t.Calls, "")
	add("faults", t.Injected(), "")
	for kind, n := range t.Faults {
		if n > 0 {
			add("  "+simulate.Fault(kind).String(), n, "")
		}
	}
	add("IDs", t.IDs, ", each checked")
	add("unseen", t.Unseen, " made twice in the time that no lease can see")
	add("takes", t.Takes, " of sequences")
	add("numbers", t.Numbers, ", each checked")
	add("repeated", t.Repeated, " came twice where no program can see it")
	return rows
}

// simulation is what --json prints.
type simulation struct {
	Seed uint64 `json:"seed"`
	*simulate.Figures
	Hours     float64             `json:"virtual_hours"`
	Faults    int64               `json:"faults"`
	ByKind    map[string]int64    `json:"faults_by_kind"`
	Collision *simulate.Collision `json:"collision"`
}

func newSimulation(f *simulateFlags, t *simulate.Figures, bad *simulate.Collision) simulation {
	o := simulation{f.seed, t, t.Virtual.Hours(), t.Injected(), map[string]int64{}, bad}
	for kind, n := range t.Faults {
		if n > 0 {
			o.ByKind[simulate.Fault(kind).String()] = n
		}
	}
	return o
}
