package sequences

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/resp"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

type importFlags struct {
	store               command.StoreFlags
	from                string
	mode, pattern, zone string
	dryRun, yes, json   bool
}

// imported is a counter of Redis, and the sequence that goes on with it.
type imported struct {
	Key      string `json:"key"`
	Last     int64  `json:"last,string"` // number of the counter
	Sequence string `json:"sequence"`
	Period   int64  `json:"period,omitempty"`
}

func sequenceImport(e *command.Env) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import KEYS --from URL", Short: "Go on with the counters of a Redis",
		Long: `Import makes sequences of the counters that programs raise by INCR. KEYS is a pattern, as in
orders or "orders:*". Import shows the counters, asks, and then does two things to each:

  1. The counter becomes "moved at N", so that INCR of an old program fails.
     It expires as before.
  2. The sequence goes on above N. Its name is the key, with dots for colons.

A key with a date, such as orders:20261122 or orders:2026-11-22, is the period of a dated
sequence; add --pattern. Rename a key that ends in another number, as in orders:c1234.
First stop the old programs: they would make the key of the next day again, and begin at 1.

You can repeat the command after an error. The password of the Redis is in the URL, or in
SNOWFENCE_FROM_PASSWORD, or in the file that SNOWFENCE_FROM_PASSWORD_FILE names.`,
		Example: `  snowfence sequence import orders --from redis://cache:6379 --dry-run
  snowfence sequence import 'orders:*' --from redis://cache:6379 --pattern '{year}{month}{day}-{n}'`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	fs := cmd.Flags()
	f.store.RegisterStore(fs)
	fs.StringVar(&f.from, "from", "", "`URL` of the Redis, as in redis://app@cache:6379/0")
	fs.StringVar(&f.mode, "mode", "", "`mode`: fast, dense or strict (default: fast; dense with --pattern)")
	fs.StringVar(&f.pattern, "pattern", "", "the keys have a date: the `text` of a number, as in RE-{year}-{n:6}")
	fs.StringVar(&f.zone, "zone", "", "with --pattern: the time `zone` whose date counts, as in Europe/Berlin "+
		"(default: UTC)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show the counters, and change nothing")
	fs.BoolVar(&f.yes, "confirm", false, "do not ask; this flag cannot be set in the environment")
	fs.BoolVar(&f.json, "json", false, "one JSON object a line")
	command.NotByEnv(cmd, "confirm")
	command.CompleteWords(cmd, "mode", string(sequence.Fast), string(sequence.Dense), string(sequence.Strict))
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		if f.from == "" {
			return command.Usagef("name the server of the counters: add --from redis://HOST:6379")
		}
		return importCounters(cmd.Context(), e, args[0], &f, out)
	})
	return cmd
}

func importCounters(ctx context.Context, e *command.Env, keys string, f *importFlags, out *bufio.Writer) error {
	st, err := f.store.Open(ctx, e)
	if err != nil {
		return err
	}
	defer st.Close()
	from, err := openCounters(ctx, e, f.from)
	if err != nil {
		return err
	}
	defer from.Close()
	e.Hide = func(text string) string { return from.Hide(st.Hide(text)) }
	last, err := from.Find(ctx, keys)
	if err != nil {
		return err
	}
	found, err := f.plan(keys, last)
	if err == nil { // what is refused shows before a counter is stopped
		err = importAll(ctx, e, unwritten{st.Leases}, f, found)
	}
	if err != nil {
		return err
	}
	show := func() error { return command.WriteTable(e, out, found, f.json, "", importedHeader, imported.row) }
	if f.dryRun {
		return show()
	}
	if !f.yes && !confirmImport(e, found) {
		return command.Usagef("nothing was changed")
	}
	for i := range found {
		if found[i].Last, err = from.Stop(ctx, found[i].Key); err != nil {
			return err
		}
	}
	if err := importAll(ctx, e, st.Leases, f, found); err != nil {
		return fmt.Errorf("the counters are stopped; run this again: %w", err)
	}
	return show()
}

// openCounters opens the Redis.
func openCounters(ctx context.Context, e *command.Env, url string) (*open.Counters, error) {
	from, err := open.OpenCounters(ctx, url, func(name string) string {
		return e.Getenv(strings.Replace(name, "_STORE_", "_FROM_", 1))
	})
	if errors.Is(err, open.ErrURL) {
		err = command.Usage(err)
	}
	return from, err
}

// plan returns the sequence that continues each counter, in the order of
// the keys.
func (f *importFlags) plan(keys string, last map[string]int64) ([]imported, error) {
	if len(last) == 0 {
		return nil, command.Usagef("no key fits %q: list the keys by redis-cli --scan", keys)
	}
	var found []imported
	by := map[imported]string{}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		name, period := resp.ParseKey(key)
		switch {
		case period != 0 && f.pattern == "":
			return nil, command.Usagef("key %q has a date: add --pattern, as in "+
				"--pattern '{year}{month}{day}-{n}'", key)
		case period == 0 && f.pattern != "":
			return nil, command.Usagef("key %q has no date, and --pattern is for keys that have one: import keys "+
				"with a date and keys without separately", key)
		}
		target := imported{Sequence: name, Period: period}
		if other := by[target]; other != "" {
			return nil, command.Usagef("keys %q and %q are both for sequence %q: import one of them", other, key, name)
		}
		by[target] = key
		found = append(found, imported{key, last[key], name, period})
	}
	return found, nil
}

// confirmImport asks whether the counters shall move.
func confirmImport(e *command.Env, found []imported) bool {
	rows := [][]string{importedHeader}
	for _, c := range found {
		rows = append(rows, c.row())
	}
	fmt.Fprintf(e.Stderr, "%s\nStop these counters in Redis, and go on with them here? [y/N] ",
		command.Escaped(string(command.AppendTable(nil, rows)), "\n"))
	answer, _ := bufio.NewReader(e.Stdin).ReadString('\n') // the end of the input is no
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// importAll makes the sequences.
func importAll(ctx context.Context, e *command.Env, st store.Store, f *importFlags, found []imported) error {
	last := map[string]map[int64]int64{}
	for _, c := range found {
		if last[c.Sequence] == nil {
			last[c.Sequence] = map[int64]int64{}
		}
		last[c.Sequence][c.Period] = c.Last
	}
	d := sequence.Definition{Mode: sequence.Mode(f.mode), Pattern: f.pattern, Zone: f.zone}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if err := sequence.Import(ctx, st, name, d, last[name]); err != nil {
			return sequenceError(e, name, err)
		}
	}
	return nil
}

// unwritten is a store on which a change is tried: writes succeed, and
// change nothing.
type unwritten struct{ store.Store }

func (unwritten) Swap(_ context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	return make([]error, len(writes)), nil, store.Reply{}
}

var importedHeader = []string{"KEY", "LAST", "SEQUENCE", "PERIOD"}

func (c imported) row() []string {
	period := "-"
	if c.Period != 0 {
		period = strconv.FormatInt(c.Period, 10)
	}
	return []string{c.Key, strconv.FormatInt(c.Last, 10), c.Sequence, period}
}
