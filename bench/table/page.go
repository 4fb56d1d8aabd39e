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

Made by ` + "`make bench`" + ` and not edited by hand; run it to have your own machine's figures in this page.

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

- A figure is the median of {{.Rounds}} rounds and half the width of its 95 % confidence interval, as benchstat computes
  them. It is wall time divided by the number of IDs, whichever goroutine made them: with two goroutines on two cores,
  half of the figure with one is perfect scaling, and the same figure is none.
- Two goroutines share one generator, or one word in the case of the bare limits. A handle (` + "`Generator.Local`" + `) belongs to
  one goroutine, so that two goroutines have two handles of one generator.
- *default* is a library as it comes, *widest* the longest sequence that its settings allow while one bit is left to tell
  two nodes apart. A dash means that there is no such setting. Where the default is much slower than the widest, what was
  measured is waiting: a layout with n sequence numbers a tick makes n IDs a tick and no more, in any library and in
  this one. That is a property of the layout. The widest column shows the work.
- Snowfence runs on a static node here. Where a generator has its grants from, a lease or a state file, costs nothing on
  the way of an ID. Its widest layout is the one in ` + "`bench/snowfence_test.go`" + `; the default is ` + "`snowfence.Default`" + `.
- Calls that fail because the sequence has run out are not IDs and are not counted; the benchmark waits and goes on, and
  counts the time.
- randflake's widths are constants. Its widest columns run it on a time source that goes on by a second whenever the
  sequence has run out, and show what an ID costs without the wait.
- yitter runs ahead of the clock by up to 2000 ms and then waits for all of it at once, holding its lock: its default
  columns are averages over whole periods, calls of two seconds included. At its widest setting all workers make the same
  IDs (` + "`TestYitterLosesWorker`" + `), so that its sequence of 21 bits is of no use; it is measured all the same.
- wuid takes its upper 28 bits from a data store at each start, which is not measured here, and counts in the rest.
- wuid's and idutil's IDs say nothing, or nothing reliable, about when they were made, random ones nothing at all, and the
  longer ones do not fit into 64 bits: these are other kinds of promise, here to compare the price. They have no widths
  to set, and stand in the widest columns.
- allocs is allocations for each ID.

## Repeats after a restart

A row says *yes, shown* if a test of this module, ` + "`TestRestartRepeats`" + ` in ` + "`bench/restart_test.go`" + `, makes IDs, restarts the
generator with the same settings and gets IDs that it had given out before. Nothing is said of the other rows: a
test that shows no duplicate proves nothing.

## Server

Made by ` + "`make bench`" + ` in the same run, on the same machine: ` + "`make bench PARTS=server`" + ` repeats this part alone, ` + "`make bench PARTS=holders`" + ` the one after it.
A figure is the median of all rounds.

{{.Served}}
- ` + "`snowfence serve`" + ` with authentication, redis-server ("INCR counter", no persistence) and a bare net/http server run side by side on the first core with
  GOMAXPROCS=1, their clients on the second; rows of one kind follow each other, and rounds start anew. The store is memory: no ID touches it.
- Rates and processor times of single IDs are compared in pairs, measured one right after the other, the first one by turns; the ratio is the median of all pairs, and in brackets
  between what it lies with 95 % confidence.
- CPU is the user and system time of the server's process divided by the commands. Over loopback that includes most of the way to the client: the
  kernel delivers a packet, and wakes who waits for it, at the expense of the sender.
- IDs travel as bulk strings of 19 digits, which every client reads exactly, INCR's replies as short integers.
- Where the client's core is near 100 %, the client bounds the figure, as redis-benchmark does at 64 commands a pipeline.
- Batches ask for IDs of the layout ` + "`time=40,node=6,seq=17`" + ` with 16 nodes leased by the server, two requests under way over the Redis protocol and one over gRPC. The clients are
  Go programs that read every ID and check that they increase; for runs (first, last, step) they write every ID of each run to memory.

## Holders

{{.Holders}}
- Every holder is a lease of its own with a time to live of a minute, in one process; all renew through one server, by ` + "`remote.Client.Store`" + ` over Connect, which
  puts renewals that are due together into one request, as the server does with requests for its store. A renewal takes from when it is due until it is acknowledged.
- Then the server is killed with SIGKILL, and a second one over the same store, which the holders know of, goes on. *Nothing granted for* is the longest
  time without any acknowledged renewal around the kill. No holder needs a renewal in that time: they go on until the end of their grants. *Grants lost* counts holders
  that had to take another grant, *duplicates* nodes that two holders had at a time.
- SQLite is one file that both servers open.

## Versions

{{range .Modules}}- {{.}}
{{end}}`))

func page(r *results, table, served, holders string) (string, error) {
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
	var b strings.Builder
	err = pageText.Execute(&b, map[string]any{
		"CPU": r.cpu, "Cores": runtime.NumCPU(), "System": system, "Go": runtime.Version(),
		"Date": time.Now().UTC().Format(time.DateOnly), "Rounds": r.rounds, "Idle": idle, "Table": table,
		"Served": served, "Holders": holders, "Modules": modules,
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
