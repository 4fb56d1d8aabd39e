package main

import (
	"bufio"
	"errors"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/internal/imports"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
	"github.com/spf13/cobra"
)

// importFlags are the flags of sequence import.
type importFlags struct {
	store           storeFlags
	from, dsn, mode string
	counter         imports.Counter
	block           int64
	finish, json    bool
	definition      changeFlags
}

func (p *program) sequenceImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import NAME --from SYSTEM --dsn URL", Short: "Go on with the numbers of Leaf, tinyid, CosId or wuid",
		Long: `Import makes a sequence that goes on with a counter of another program in MySQL or MariaDB,
while old programs run:

  1. Import takes a block of numbers from the counter, by the old program's own statement, and
     makes a sequence of it. From now on old and new programs take numbers side by side.
  2. Replace the old programs by new ones.
  3. Import with --finish, when no old program runs: the old row gets another name, so that
     nothing can take from it, and the sequence goes on above all that was given out.

Take a block that lasts until then. If it ends before, run the same command again: it takes
another block. Until --finish max cannot be raised by hand, because above the block are
numbers of the old programs. You can repeat each step: while a block lasts, none is taken.

  system  its table     --row is
  leaf    leaf_alloc    a biz_tag
  tinyid  tiny_id_info  a biz_type
  cosid   cosid         a namespace and a name, as in app.orders
  wuid    wuid          not needed, and --block neither: a block has 2^36 numbers

The password of the old database is in the URL, or in SNOWFENCE_DSN_PASSWORD, or in the file
that SNOWFENCE_DSN_PASSWORD_FILE names.`,
		Example: `  snowfence sequence import orders --from leaf --dsn mysql://app@db:3306/leaf --row orders \
    --block 10000000
  snowfence sequence import orders --from leaf --dsn mysql://app@db:3306/leaf --row orders --finish`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	fs := cmd.Flags()
	f.store.registerStore(fs)
	f.store.manage(fs, "sequence import")
	fs.StringVar(&f.from, "from", "", "the `system` that the counter belongs to: leaf, tinyid, cosid or wuid")
	fs.StringVar(&f.dsn, "dsn", "", "`URL` of the old database, as in mysql://app@db:3306/leaf")
	fs.StringVar(&f.counter.Name, "row", "", "`name` of the counter in the old table")
	fs.StringVar(&f.counter.Table, "table", "", "`name` of the old table (default: the one of the system)")
	fs.Int64Var(&f.block, "block", 1_000_000, "how many `numbers` to take from the counter")
	fs.BoolVar(&f.finish, "finish", false, "no old program runs any more: rename the counter, and go on above it")
	fs.StringVar(&f.mode, "mode", string(sequence.Fast), "`mode` of the sequence: fast, dense or strict")
	fs.BoolVar(&f.json, "json", false, "one JSON object")
	f.definition.register(cmd, func(usual string) string { return " (default: " + usual + ")" })
	completeWords(cmd, "from", "leaf", "tinyid", "cosid", "wuid")
	completeWords(cmd, "mode", string(sequence.Fast), string(sequence.Dense), string(sequence.Strict))
	cmd.RunE = p.runE(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		return p.importSequence(cmd, args[0], &f, out)
	})
	return cmd
}

func (p *program) importSequence(cmd *cobra.Command, name string, f *importFlags, out *bufio.Writer) error {
	ctx := cmd.Context()
	f.counter.System = imports.System(f.from)
	c, err := f.definition.changes(cmd)
	switch {
	case err != nil:
		return err
	case f.from == "":
		return usagef("which system the counter belongs to: add --from leaf, tinyid, cosid or wuid")
	case f.dsn == "":
		return usagef("where the counter is: add --dsn mysql://USER@HOST:3306/DATABASE")
	case !f.finish && c.Max != nil:
		return usagef("--max %d: the block ends the sequence until --finish: leave --max out, or add --finish", *c.Max)
	case f.finish && p.onCommandLine(cmd, "block"):
		return usagef("--block %d: --finish takes no block: leave one of them out", f.block)
	}
	d := sequence.Definition{
		Mode: sequence.Mode(f.mode), Max: c.Max, MinRange: c.MinRange, MaxRange: c.MaxRange,
	}
	if c.AfterFailover != nil {
		d.AfterFailover = *c.AfterFailover
	}
	st, err := openForSequence(ctx, &f.store, name, p.openStore)
	if err != nil {
		return err
	}
	defer st.Close()
	old, hideOld, err := open.MySQL(ctx, f.dsn, func(name string) string {
		return p.env[strings.Replace(name, "_STORE_", "_DSN_", 1)]
	})
	if errors.Is(err, open.ErrURL) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer old.Close()
	hide := p.hide
	p.hide = func(text string) string {
		if hide != nil {
			text = hide(text)
		}
		return hideOld(text)
	}
	var info sequence.Info
	if f.finish {
		info, err = imports.Finish(ctx, old, f.counter, st.Leases, name, d)
	} else {
		info, err = imports.Begin(ctx, old, f.counter, st.Leases, name, f.block, d)
	}
	switch {
	case errors.Is(err, lease.ErrExists):
		return p.advise(usageError{err}, "show "+name)
	case err != nil:
		return p.sequenceError(name, err)
	case !f.finish:
		p.message("old and new programs may take numbers side by side; when this block ends, run this again for " +
			"another one; when no old program runs any more, run this again with --finish")
	}
	return writeSequence(out, info, f.json)
}
