package namespaces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/insql"
	"github.com/spf13/cobra"
)

type sqlFlags struct {
	store   command.StoreFlags
	dialect string
	layout  string
	node    string
	lanes   int
	lead    int64
	maxWait time.Duration
	schema  string
	table   string
	label   string
	again   bool
	retire  bool
	serial  bool
}

var sqlDialects = map[string]func(insql.Plan) (string, error){
	"mariadb":  insql.MariaDB,
	"mysql":    insql.MySQL,
	"postgres": insql.Postgres,
}

// serialDialects are the texts of sql --serial, by dialect.
var serialDialects = map[string]func(schema string, about []string) (string, error){
	"mariadb":  insql.SerialMariaDB,
	"postgres": insql.SerialPostgres,
}

func dialectNames() []string { return slices.Sorted(maps.Keys(sqlDialects)) }

func sqlCommand(e *command.Env) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql --dialect DIALECT {--node N | --serial}",
		Short: "Print SQL functions that make IDs inside a database",
		Long: `Sql prints what makes the IDs of one node inside a database. Run it there once. Then
snowfence_next() is a new ID, snowfence_decode(id) takes one apart, and the IDs of a span of
time are those WHERE id >= snowfence_from(a) AND id < snowfence_until(b). With a tag in the
layout, snowfence_tag(snowfence_next(), 7) is a new ID with one.

The node belongs to this database alone. With --store and --namespace, sql records that first:
the node must lie outside those that can be leased, and a second print of it is refused. The
layout is the namespace's. From then on the node is not leased, no change of the
namespace that could make one of its IDs is accepted, and the namespace is not deleted. With
--again it prints the functions another time, for the same database and schema. When you have
dropped the functions there, --retire records that. Both need a database clock within 30
seconds of this machine's, which was never further ahead: else wait until that time is past.
Without --store nothing keeps the node.

An ID counts from COMMIT. More in docs/choose/ids-in-the-database.md.

With --serial, sql prints other functions: snowfence_serial('NAME') takes a number of a strict
sequence of this database inside the caller's transaction, without gaps. In its place,
snowfence_serial_text('NAME') takes one and returns its text. More in docs/choose/invoices.md.`,
		Example: `  snowfence sql --dialect postgres --node 1023 --table orders.id
  snowfence namespace create orders --leasable 0-1022 --store sqlite:ids.db
  snowfence sql --dialect postgres --node 1023 --store sqlite:ids.db --namespace orders --label shop
  snowfence sql --retire --node 1023 --store sqlite:ids.db --namespace orders
  snowfence sql --dialect postgres --serial`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	f.store.Register(fs)
	fs.StringVar(&f.dialect, "dialect", "", "the database's `language`: "+strings.Join(dialectNames(), ", "))
	fs.StringVar(&f.layout, "layout", "", "the layout of the IDs: `name` or spec (default: the namespace's with "+
		"--store, else snowfence)")
	fs.StringVar(&f.node, "node", "", "the `node` of the IDs, or parts as in 3,7 for datacenter and worker")
	fs.IntVar(&f.lanes, "lanes", 0, "the `number` of transactions that can make IDs at a time, a power of two; each "+
		"has its part of the layout's rate (default: 64, at most a quarter of the sequence numbers)")
	fs.Int64Var(&f.lead, "lead", 0, "how many `ticks` IDs may run ahead of the clock (default: a second)")
	fs.DurationVar(&f.maxWait, "max-wait", 5*time.Second, "how long a call waits when IDs would run further ahead "+
		"than --lead")
	fs.StringVar(&f.schema, "schema", "", "the `schema` of the functions (default: public); with --serial also of the "+
		"sequences")
	fs.StringVar(&f.table, "table", "", "a `TABLE.COLUMN` that gets IDs by itself")
	fs.StringVar(&f.label, "label", "", "with --store: a `name` of the database, for people")
	fs.BoolVar(&f.again, "again", false, "with --store: print the functions of a recorded node again, for the same "+
		"database; this flag cannot be set in the environment")
	fs.BoolVar(&f.retire, "retire", false, "with --store: record that the functions were dropped; this flag cannot be "+
		"set in the environment")
	fs.BoolVar(&f.serial, "serial", false, "print functions that take numbers of strict sequences; this flag cannot "+
		"be set in the environment")
	command.NotByEnv(cmd, "again", "retire", "serial")
	command.CompleteLayouts(cmd, "layout")
	command.CompleteWords(cmd, "dialect", dialectNames()...)
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		if f.serial {
			return f.printSerial(e, cmd, out)
		}
		if err := f.check(cmd); err != nil {
			return err
		}
		if f.retire {
			return sqlRetire(cmd.Context(), e, &f)
		}
		text, err := sqlPlain(cmd.Context(), e, cmd, &f)
		if err != nil {
			return err
		}
		_, err = out.WriteString(text)
		return err
	})
	return cmd
}

// printSerial prints the functions that take numbers of sequences.
func (f *sqlFlags) printSerial(e *command.Env, cmd *cobra.Command, out *bufio.Writer) error {
	other := command.FirstGiven(cmd, "store", "namespace", "layout", "node", "lanes", "lead", "max-wait", "table",
		"label", "again", "retire")
	switch {
	case other != "":
		return command.Usagef("--%s is for functions that make IDs: leave it out with --serial", other)
	case serialDialects[f.dialect] == nil:
		return command.Usagef("--dialect %q: with --serial choose %s", f.dialect,
			strings.Join(slices.Sorted(maps.Keys(serialDialects)), ", "))
	}
	text, err := serialDialects[f.dialect](f.schema, []string{madeNow(e)})
	if err != nil {
		return command.Usage(err)
	}
	_, err = out.WriteString(text)
	return err
}

func madeNow(e *command.Env) string {
	return "Made by snowfence sql on " + e.Now().UTC().Format(time.RFC3339) + "."
}

// check refuses flags that are wrong whatever the store says.
func (f *sqlFlags) check(cmd *cobra.Command) error {
	switch {
	case f.node == "":
		return command.Usagef("name a node that only this database has: add --node N")
	case f.again && f.retire:
		return command.Usagef("--again prints functions, and --retire says that they are gone: leave one of them out")
	case f.store.URL == "" && (f.again || f.retire):
		return command.Usagef("--again and --retire are about what a store has recorded: add --store URL " +
			"--namespace NAME")
	case f.store.URL == "" && command.Given(cmd, "namespace"):
		return command.Usagef("--namespace %s: the namespace of a store keeps the node: add --store URL",
			f.store.Namespace)
	case f.retire:
		return nil
	case sqlDialects[f.dialect] == nil:
		return command.Usagef("--dialect %q: choose %s", f.dialect, strings.Join(dialectNames(), ", "))
	case cmd.Flags().Changed("lanes") && f.lanes < 1:
		return command.Usagef("--lanes %d: a power of two, from 1 up", f.lanes)
	}
	return nil
}

// sqlPlain returns the text that the flags ask for, after the store has
// recorded the node.
func sqlPlain(ctx context.Context, e *command.Env, cmd *cobra.Command, f *sqlFlags) (string, error) {
	if f.store.URL != "" {
		return sqlRecorded(ctx, e, cmd, f)
	}
	l, err := command.ParseLayout(f.layout)
	if err != nil {
		return "", err
	}
	plan, err := f.plan(ctx, cmd, l, l.TickOf(e.Now()))
	if err != nil {
		return "", err
	}
	plan.About = []string{
		fmt.Sprintf("Nothing keeps node %d for this database: see to it yourself that no other program, database or",
			plan.Node),
		"schema has it, or print this with --store URL --namespace NAME, which does.",
	}
	return sqlText(e, f, plan)
}

// sqlText writes a plan in the dialect.
func sqlText(e *command.Env, f *sqlFlags, plan insql.Plan) (string, error) {
	plan.About = append([]string{madeNow(e)}, plan.About...)
	text, err := sqlDialects[f.dialect](plan)
	if errors.Is(err, insql.ErrPlan) {
		err = command.Usage(err)
	}
	return text, err
}

// plan returns the flags' plan of the functions, with IDs above a tick.
func (f *sqlFlags) plan(ctx context.Context, cmd *cobra.Command, l snowfence.Layout, from int64) (insql.Plan, error) {
	p := insql.Plan{
		Layout: l, From: from, Lanes: f.lanes, Lead: f.lead, MaxWait: f.maxWait, Schema: f.schema, Table: f.table,
	}
	if !cmd.Flags().Changed("lead") {
		p.Lead = insql.DefaultLead(l)
	}
	if l.Cipher != snowfence.Plain {
		return p, nil // refused with the reason when it is written
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return p, err
	}
	p.Node, _, err = command.ParseNode(ctx, s, f.node)
	return p, err
}
