package plans

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/ids"
	"github.com/snowfence/snowfence/internal/audit"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/spf13/cobra"
)

type auditFlags struct {
	layout, from, column, field string
	json, guess, nodes          bool
	limit                       int
	secret                      command.SecretFlag
	numbers                     gapsFlags
}

func auditCommand(e *command.Env) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use: "audit [FILE]...", Short: "Check a stream of IDs for duplicates, order and evenness, or numbers for gaps",
		Long: `Audit reads IDs of this or any other system and says whether each is there once, whether
they are in order, and how evenly they are spread. Every answer is exact. With a layout it
also says from which time and nodes they are.

It reads the files, or standard input ("-"): one ID a line, a column of comma- or
tab-separated values, or a field of JSON lines; compressed by gzip or zstd or
not, which it sees by itself. IDs in order can be any number, and others 134 million.

With --namespace it reads the IDs of a namespace with its layout and secrets, in any form of text,
with a prefix or without one, as decode does.

With --guess it says which layouts the IDs can have, by their dates, nodes and sequence numbers.

With --gaps it reads numbers of a sequence, and says which are missing. --start, --step and
--pattern say which there should be, or --sequence does.

The exit code is 3 when an ID occurs twice or, with --gaps, a number is missing, also if there
were bad lines; else 2 when a line was no ID. Such lines are reported with their number, and
the rest goes on.`,
		Example: `  snowfence audit --layout twitter ids.txt
  psql -c 'copy (select id from orders) to stdout' | snowfence audit
  snowfence audit --column id --json orders-*.csv.gz
  snowfence audit --guess --column id orders.csv
  snowfence audit --namespace orders --column id orders.csv
  snowfence audit --gaps --pattern 'RE-{year}-{n:6}' --column number invoices.csv`,
	}
	fs := cmd.Flags()
	fs.StringVar(&f.layout, "layout", "", "layout of the IDs: `name` or spec (snowfence plan --help lists them)")
	fs.StringVar(&f.from, "from", "dec", "text `form` of the IDs: "+ids.FormNames())
	fs.StringVar(&f.column, "column", "", "`name` or number of the column of comma- or tab-separated values")
	fs.StringVar(&f.field, "field", "", "`name` of the field of JSON lines")
	fs.BoolVar(&f.json, "json", false, "the result as one JSON object")
	fs.BoolVar(&f.guess, "guess", false, "say which layouts the IDs can have, the likeliest first, and why")
	fs.BoolVar(&f.nodes, "nodes", false, "list all nodes")
	fs.IntVar(&f.limit, "limit", 20, "list at most so many duplicates and gaps")
	f.secret.Register(fs)
	f.numbers.register(cmd)
	command.CompleteLayouts(cmd, "layout")
	cmd.RunE = e.Run(func(cmd *cobra.Command, files []string, out *bufio.Writer) error {
		n, err := numberingOf(e, cmd, &f.numbers)
		if err != nil {
			return err
		}
		given := command.FirstGiven(cmd, "layout", "store", "namespace")
		if f.guess && given != "" {
			return command.Usagef("--guess looks for the layout: leave --guess or --%s out", given)
		}
		var d *show.Decoder
		if n == nil && (command.Given(cmd, "store") || command.Given(cmd, "namespace")) {
			if d, err = auditDecoder(e, cmd, &f); err != nil {
				return err
			}
		}
		return runAudit(cmd.Context(), e, &f, n, d, files, out)
	})
	return cmd
}

// auditDecoder returns the decoder of a namespace's IDs, as decode has it.
func auditDecoder(e *command.Env, cmd *cobra.Command, f *auditFlags) (*show.Decoder, error) {
	d := &show.Decoder{Now: e.Now()}
	df := &ids.DecodeFlags{Layout: f.layout, Secret: f.secret, Store: f.numbers.store}
	if command.Given(cmd, "from") {
		df.From = f.from
	}
	if err := ids.PrepareDecoder(e, cmd, d, df); err != nil {
		return nil, err
	}
	if earlier := len(d.Views) - 1; earlier > 0 {
		e.Message("namespace %q had %s before: times and nodes are by its layout today", d.Namespace,
			show.Plural(int64(earlier), "other layout"))
	}
	return d, nil
}

// runAudit reads the files. With a numbering they have numbers of a
// sequence, with a decoder IDs of a namespace.
func runAudit(
	ctx context.Context, e *command.Env, f *auditFlags, n *numbering, d *show.Decoder, files []string,
	out *bufio.Writer,
) error {
	o, format, err := f.options()
	if err != nil {
		return command.Usage(err)
	}
	var v *show.View
	switch {
	case n != nil:
		n.options(&o, &format)
	case d != nil:
		v = d.Views[0]
		o.Scheme, format.Parse = v.Scheme, d.ID
	case f.layout != "":
		v, err = show.NewViewWith(f.layout, func(l snowfence.Layout) (*snowfence.Scheme, error) {
			return f.secret.Scheme(e, l)
		})
		if err != nil {
			return command.Usagef("--layout: %w", err)
		}
		o.Scheme = v.Scheme
	}
	defer limitHeap()()
	a, err := audit.New(o)
	if err != nil {
		return command.Usage(err)
	}

	var guess *show.Evidence
	if f.guess {
		known, err := show.Known()
		if err != nil {
			return err
		}
		guess = show.NewEvidence(known, e.Now())
	}
	add := func(b *audit.Batch) error {
		if guess != nil {
			guess.Add(b.IDs...)
		}
		return a.Add(b.IDs...)
	}
	in := &auditInput{e: e, format: format, add: add}
	if err := in.readAll(ctx, files); err != nil {
		return err
	}
	result, err := a.Result(ctx)
	if err != nil {
		return err
	}
	in.reportBad()
	in.places.fill(result)
	if n != nil {
		r := newGapsReport(result, n, in.bad)
		return codeOf(r.write(out, f.json), r.finding(), in.bad)
	}
	r := &auditReport{result: result, view: v, bad: in.bad, guess: guess, nodes: f.nodes}
	if f.json {
		err = command.WriteJSON(out, struct {
			*audit.Result
			BadLines int64         `json:"bad_lines"`
			Guesses  []*show.Trace `json:"guesses,omitempty"`
		}{result, in.bad, guess.Ranking()})
	} else {
		r.writeText(out)
	}
	return codeOf(err, result.Duplicates.IDs > 0, in.bad)
}

// codeOf returns what ends an audit: a finding counts more than bad lines.
func codeOf(err error, finding bool, bad int64) error {
	switch {
	case err != nil:
		return err
	case finding:
		return command.ErrFindings
	case bad > 0:
		return command.ErrBadInput
	}
	return nil
}

// options are the flags' facts of the IDs and the limits of the audit.
func (f *auditFlags) options() (o audit.Options, format audit.Format, err error) {
	format = audit.Format{Column: f.column, Field: f.field}
	if format.Encoding, err = snowfence.ParseEncoding(f.from); err != nil {
		return o, format, fmt.Errorf("--from: %w", err)
	}
	if f.column != "" && f.field != "" {
		return o, format, errors.New("--column, --field: IDs are in a column or in a field: choose one")
	}
	if f.limit < 0 {
		return o, format, errors.New("--limit: give a number from 0 up")
	}
	o.Limit = f.limit
	return o, format, nil
}

// limitHeap limits the heap near the memory for IDs; else it would grow to
// twice its size. A lower limit from GOMEMLIMIT stays. The returned
// function removes the limit.
func limitHeap() func() {
	const beside = 256 << 20 // tables, buffers, and the program itself
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, audit.Memory+beside))
	return func() { debug.SetMemoryLimit(before) }
}
