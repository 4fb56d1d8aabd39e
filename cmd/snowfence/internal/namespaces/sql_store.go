package namespaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"

	"github.com/spf13/cobra"
)

// sqlRecorded returns the text for a node that the namespace keeps for the
// database.
func sqlRecorded(ctx context.Context, e *command.Env, cmd *cobra.Command, f *sqlFlags) (string, error) {
	st, ns, err := f.store.OpenNamespace(ctx, e)
	if err != nil {
		return "", err
	}
	defer st.Close()
	l, err := f.recordedLayout(ctx, ns)
	if err != nil {
		return "", err
	}
	plan, err := f.plan(ctx, cmd, l, l.TickOf(e.Now()))
	if err != nil {
		return "", err
	}
	if _, err := sqlText(e, f, plan); err != nil {
		return "", err // before anything is recorded
	}
	by := scope.Functions{
		Dialect: f.dialect, Schema: cmp.Or(f.schema, map[string]string{"postgres": "public"}[f.dialect]),
		Label: f.label, Lead: l.TimeOf(plan.Lead).Sub(l.TimeOf(0)),
	}
	_, plan.From, err = scope.Namespaces(st.Leases).RecordFunctions(ctx, f.store.Namespace, plan.Node, by, f.again)
	if err != nil {
		return "", f.explainSQL(ns, plan.Node, err)
	}
	plan.Anew = !f.again
	plan.About = []string{fmt.Sprintf("Namespace %s keeps node %d for this database and schema. When you have dropped "+
		"these functions, run snowfence sql --retire --node %d.", f.store.Namespace, plan.Node, plan.Node)}
	if f.label != "" {
		plan.About = append(plan.About, "Database: "+f.label)
	}
	return sqlText(e, f, plan)
}

// recordedLayout returns the layout of the functions: the namespace's, or
// an earlier one with which they were printed before.
func (f *sqlFlags) recordedLayout(ctx context.Context, ns scope.Namespace) (snowfence.Layout, error) {
	l := ns.Layout
	for _, q := range ns.Regions {
		if !f.again || q.Ended || q.Functions == nil {
			continue
		}
		s, err := snowfence.NewScheme(q.Layout)
		if err != nil {
			return l, err
		}
		if node, _, err := command.ParseNode(ctx, s, f.node); err == nil && node == q.Nodes.From {
			l = q.Layout
		}
	}
	if f.layout == "" {
		return l, nil
	}
	wanted, err := command.ParseLayout(f.layout)
	if err == nil && !wanted.Equal(l) {
		err = command.Usagef("--layout: namespace %q has the layout %s: leave --layout out", ns.Name,
			show.LayoutName(l))
	}
	return l, err
}

// explainSQL gives an error the commands that help.
func (f *sqlFlags) explainSQL(ns scope.Namespace, node int64, err error) error {
	if !errors.Is(err, lease.ErrRefused) && !errors.Is(err, lease.ErrInvalid) {
		return err
	}
	last := int64(ns.Layout.Capacity().Nodes) - 1
	until := last &^ (ns.Unit - 1) // whole units are leased
	if node < ns.Nodes.From || node > last || ns.Nodes.Until <= last || until <= ns.Nodes.From {
		return command.Usage(err)
	}
	return command.Usagef("%w; or stop leasing the nodes from %d on: holders then get other nodes:\n  %s", err, until,
		f.store.Command("snowfence namespace change %s --leasable %d-%d", ns.Name, ns.Nodes.From, until-1))
}

// sqlRetire records that the functions of a node were dropped.
func sqlRetire(ctx context.Context, e *command.Env, f *sqlFlags) error {
	st, ns, err := f.store.OpenNamespace(ctx, e)
	if err != nil {
		return err
	}
	defer st.Close()
	f.again = true // it is the layout of the functions that counts
	f.layout = ""
	l, err := f.recordedLayout(ctx, ns)
	if err != nil {
		return err
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return err
	}
	node, _, err := command.ParseNode(ctx, s, f.node)
	if err != nil {
		return err
	}
	q, err := scope.Namespaces(st.Leases).RetireFunctions(ctx, f.store.Namespace, node)
	if errors.Is(err, lease.ErrRefused) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	e.Message("node %d of namespace %q is retired: IDs of its functions lie before %s; if SELECT max(id) is of a "+
		"later time, the database's clock was ahead: let nothing use the node until then", node, ns.Name,
		l.TimeOf(q.Until).Format(time.RFC3339))
	return nil
}
