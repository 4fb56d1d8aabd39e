package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"
)

var pageText = template.Must(template.New("page").Parse(`# Benchmarks

` + "`make bench`" + ` writes this page; nobody edits it by hand. It compares Snowfence with other libraries, and says which targets were missed. Run it to see the figures of your own machine.

| | |
|---|---|
| CPU | {{.CPU}}, {{.Cores}} cores |
| system | {{.System}} |
| Go | {{.Go}} |
| date | {{.Date}} |
| command | ` + "`make bench`" + `: {{.Rounds}} rounds over all rows, one after the other, in one process each |

{{if not .Idle}}**The machine was busy with something else**: two goroutines that share nothing were not twice as fast as one. Do not
rely on the columns with two goroutines.

{{end}}{{.Table}}
## How to read it

- A figure is the median of {{.Rounds}} rounds, with half the width of its 95 % confidence interval, as benchstat computes
  them. It is wall time divided by the number of IDs, whichever goroutine made them. With two goroutines on two cores,
  perfect scaling halves the figure with one; the same figure means no scaling.
- Two goroutines share one generator, or one word in the case of the bare limits. A handle (` + "`Generator.Local`" + `) belongs to
  one goroutine, so two goroutines have two handles of one generator.
- *default* is a library with its own settings. *widest* is the longest sequence that its settings allow while one bit
  still tells two nodes apart. A dash means that there is no such setting.
- If the default is much slower than the widest, it measures waiting: in any library, a layout with n sequence numbers
  a tick makes n IDs a tick and no more. The widest column shows the work.
- Snowfence runs on a static node here. A lease or a state file adds no cost to an ID. Its widest layout is the one in
  ` + "`bench/snowfence_test.go`" + `; its default is ` + "`snowfence.Default`" + `.
- If a call fails because the sequence is used up, it is not counted as an ID. The benchmark waits and goes on, and its
  time is counted.
- randflake's widths are constants. In its widest columns, its time source goes on by a second when the sequence is
  used up. They show the cost of an ID without the wait.
- yitter runs ahead of the clock by up to 2000 ms. Then it waits for all of it at once, and holds its lock. Its default
  columns are averages over whole periods, with the calls that take two seconds. At its widest setting, all workers make
  the same IDs (` + "`TestYitterLosesWorker`" + `), so its sequence of 21 bits is of no use. It is measured all the same.
- wuid takes its upper 28 bits from a data store at each start, which is not measured, and counts in the rest.
- The IDs of wuid and idutil tell little or nothing about when they were made, random ones nothing at all, and the longer
  ones do not fit into 64 bits. They promise something else, and are here to compare the price. They have no widths to
  set, and are in the widest columns.
- allocs are the allocations for each ID.

## Repeats after a restart

*yes, shown* means that ` + "`TestRestartRepeats`" + ` in ` + "`bench/restart_test.go`" + ` makes IDs, restarts the generator with the same
settings, and gets IDs that it had made before. An empty field means nothing: a test that shows no duplicate proves
nothing.

## Server

` + "`make bench`" + ` makes this part in the same run, on the same machine. ` + "`make bench PARTS=server`" + ` repeats it alone, and ` + "`make bench PARTS=holders`" + ` the next one.
A figure is the median of all rounds.

{{.Served}}
- ` + "`snowfence serve`" + ` with authentication, redis-server ("INCR counter", no persistence) and a bare net/http server run on the first core, each with
  GOMAXPROCS=1. Their clients run on the second. Rows of one kind follow each other, and rounds start from the beginning. The store is memory: no ID touches it.
- Rates and processor times of single IDs are compared in pairs, measured one right after the other; the two take turns to be first. The ratio is the median of all pairs, with its
  95 % confidence interval in brackets.
- CPU is the user and system time of the server's process divided by the commands. Over loopback that includes most of the way to the client: the
  sender pays for the kernel's delivery of a packet, and for waking the receiver.
- IDs are bulk strings of 19 digits, which every client reads exactly. INCR's replies are short integers.
- Numbers of a sequence are integers, as the replies of INCR are. Its mode is fast; the server takes ranges ahead.
- If the client's core is near 100 %, the client limits the figure. redis-benchmark does so at 64 commands a pipeline.
- Batches ask for IDs of the layout ` + "`time=40,node=6,seq=17`" + `, with 16 nodes leased by the server. There are two requests at a time over the Redis protocol and one over gRPC. The clients are
  Go programs that read every ID and check that they increase. For runs (first, last, step), they write every ID of each run to memory.

## Holders

{{.Holders}}
- Every holder is a lease of its own, with a ttl of a minute, and all are in one process. All renew through one server, by ` + "`remote.Client.Store`" + ` over Connect. It
  puts renewals that are due together into one request, and the server does the same with requests for its store. A renewal takes from when it is due until it is acknowledged.
- Then SIGKILL ends the server, and a second one over the same store, which the holders know, goes on. *Nothing granted for* is the longest
  time without an acknowledged renewal around the kill. No holder needs a renewal in that time: they go on until their grants end. *Grants lost* counts holders
  that had to take another grant. *duplicates* counts nodes that two holders had at a time.
- SQLite is one file that both servers open.

## Sequences

` + "`make bench PARTS=sequences`" + ` repeats this part alone.

{{.Sequences}}
- The first table is of a process: ranges outlast the measurement, so no number waits for the store. Each goroutine has a core of its own. Slices of a million numbers take turns with a million atomic adds
  on one word by as many goroutines, and the processor time of both is divided by the goroutines. So a busy machine changes both sides alike. A ratio is the median of the rounds, with its 95 % confidence interval in brackets.
- *By hand* is ` + "`UPDATE … SET n = n + 1 … RETURNING n`" + ` on one row over 16 connections, committed by each statement, and for ` + "`SequenceTx`" + ` the same in a transaction that also writes a row. Both sides use the same database with the
  same settings, synced at each commit, and take turns every second. One write of a strict sequence serves all callers of a program who wait for it, so one program is faster than the statement by hand.

## Layers

` + "`make bench PARTS=compat`" + ` repeats this part alone.

{{.Layers}}
- A layer is another library's API over our generator (` + "`compat/`" + `). Slices of its IDs, of ` + "`Generator.Next`" + ` with the same layout, and of the original with the same settings
  take turns. A ratio is the median of the rounds, with its 95 % confidence interval in brackets. Where the default layout caps the rate, all three wait for the next tick.

{{.Languages}}
## Versions

{{range .Modules}}- {{.}}
{{end}}`))

// languagesText is a part that can be made alone, too.
var languagesText = template.Must(template.New("languages").Parse(`## Languages

` + "`make bench PARTS=clib`" + ` makes this part alone, and puts it into the page.

{{.}}
- All languages make IDs by the C library, on a static node, with a layout that never makes them wait. Each program measures what it is compared with too, in the same process. A figure is
  the best of the slices of a program, in processor time (Java: wall time), and then the median of the rounds. A ratio has its 95 % confidence interval in brackets where there are enough rounds.
- A call from C into Go costs what the call costs that does nothing. So ` + "`snowfence_fill`" + ` of 1024 IDs costs a fill in Go and such a call, and the ring pays for a call once in 1024 IDs.
`))

func page(r *results, table, served, holders, sequences, layers, languages string) (string, error) {
	modules, err := versions()
	if err != nil {
		return "", err
	}
	system, err := output("uname", "-srm")
	if err != nil {
		return "", err
	}
	idle, err := r.idle()
	if err != nil {
		return "", err
	}
	var part, b strings.Builder
	if err := languagesText.Execute(&part, languages); err != nil {
		return "", err
	}
	err = pageText.Execute(&b, map[string]any{
		"CPU": r.cpu, "Cores": runtime.NumCPU(), "System": system, "Go": runtime.Version(),
		"Date": time.Now().UTC().Format(time.DateOnly), "Rounds": r.rounds, "Idle": idle, "Table": table,
		"Served": served, "Holders": holders, "Sequences": sequences, "Layers": layers,
		"Languages": part.String(), "Modules": modules,
	})
	return b.String(), err
}

// versions asks the go command which versions were measured.
func versions() ([]string, error) {
	args := []string{"list", "-m"}
	for _, w := range rows {
		if w.module != "" {
			args = append(args, w.module)
		}
	}
	s, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	return slices.Compact(strings.Split(s, "\n")), nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
