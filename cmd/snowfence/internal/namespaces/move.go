package namespaces

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
)

func storeMove(e *command.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "move FROM TO", Short: "Move all namespaces and sequences to another store", Args: cobra.ExactArgs(2),
		Long: `This moves everything in the store FROM to the store TO: namespaces with their layouts, regions,
nodes and counts for the past, and sequences with their periods. FROM and TO are URLs of stores.

Each namespace and each sequence is closed in FROM first. Programs that use FROM make IDs until
their grants end, and no more. Then start them with TO: each node begins after all that was
granted of it in FROM, and numbers go on after all that was taken.

If the command is interrupted, run it again: it goes on where it stopped. Until then, neither
store gives grants for what was being moved. TO must not have any of the names, unless they came
from there: to undo a move, move the store back. After a move, backups of both stores from before
it are of no use: one of FROM would open it again.

If FROM is on a server, SNOWFENCE_STORE_PASSWORD is for FROM alone: name TO's password in its URL,
by password_file=PATH.`,
		Example: "  snowfence store move sqlite:ids.db postgres://snowfence@db.example/ids\n" +
			"  snowfence store move postgres://snowfence@db.example/ids etcd://etcd.example:2379",
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each namespace and sequence")
	cmd.RunE = e.Run(func(cmd *cobra.Command, args []string, out *bufio.Writer) error {
		ctx, other := cmd.Context(), *e
		if open.OnServer(args[0]) { // it gets the password of the variables, and TO does not
			other.Vars = maps.Clone(e.Vars)
			delete(other.Vars, open.PasswordEnv)
			delete(other.Vars, open.PasswordFileEnv)
		}
		to, err := (&command.StoreFlags{URL: args[1]}).Open(ctx, &other)
		if err != nil {
			return err
		}
		defer to.Close()
		from, err := (&command.StoreFlags{URL: args[0]}).Open(ctx, e)
		if err != nil {
			return err
		}
		e.Hide = func(text string) string { return from.Hide(to.Hide(text)) }
		e.Advice = func(err error) string { return cmp.Or(to.PermissionAdvice(err), from.PermissionAdvice(err)) }
		if from.Name == to.Name {
			return errors.Join(command.Usagef("FROM and TO are one store: name another one after FROM"), from.Close())
		}
		return errors.Join(moveStore(ctx, from, to, asJSON, out), from.Close())
	})
	return cmd
}

func moveStore(ctx context.Context, from, to *open.Store, asJSON bool, out *bufio.Writer) error {
	f, t := store.Place{Store: from.Leases, Name: from.Name}, store.Place{Store: to.Leases, Name: to.Name}
	heads, _, err := f.Heads(ctx)
	if err != nil {
		return err
	}
	for _, r := range heads { // before anything is closed
		name, ok := strings.CutPrefix(r.Namespace, "#")
		try := scope.Move
		if ok {
			try = sequence.Move
		}
		err := try(ctx, name, store.Place{Store: tried{f}, Name: f.Name}, store.Place{Store: tried{t}, Name: t.Name})
		if err != nil && !errors.Is(err, errTried) {
			return err
		}
	}
	w := &walk{st: f.Store, json: asJSON, out: out}
	w.namespace = func(name string) (*pb.Namespace, string, error) {
		if err := scope.Move(ctx, name, f, t); err != nil {
			return nil, "", err
		}
		ns, err := scope.Namespaces(t.Store).Show(ctx, name)
		if err != nil {
			return nil, "", err
		}
		m, err := view.Namespace(ns)
		return m, "moved", err
	}
	w.sequence = func(name string) (*pb.Sequence, string, error) {
		if err := sequence.Move(ctx, name, f, t); err != nil {
			return nil, "", err
		}
		s, err := sequence.Show(ctx, t.Store, name)
		return view.Sequence(s), "moved", err
	}
	for before := -1; before < len(w.seen); { // programs may make names meanwhile
		before = len(w.seen)
		if err := w.all(ctx); err != nil {
			return fmt.Errorf("%w\nthe move is not complete: run the command again", err)
		}
	}
	if len(w.seen) == 0 {
		return command.Usagef("no namespace and no sequence is in %s: name the store that you want to move first",
			from.Name)
	}
	return nil
}

// tried is a store on which a move is tried: its first write ends it.
type tried struct{ store.Store }

var errTried = errors.New("the move would begin")

func (tried) Swap(_ context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	return slices.Repeat([]error{errTried}, len(writes)), nil, store.Reply{}
}

// walk does something to all namespaces and sequences of a store, once to
// each. The functions return what to print, nil for nothing.
type walk struct {
	st        store.Store
	json      bool
	out       *bufio.Writer
	namespace func(name string) (*pb.Namespace, string, error)
	sequence  func(name string) (*pb.Sequence, string, error)
	seen      []string
}

func (w *walk) all(ctx context.Context) error {
	heads, _, err := w.st.Heads(ctx)
	if err != nil {
		return err
	}
	for _, r := range heads {
		if slices.Contains(w.seen, r.Namespace) {
			continue
		}
		var text, what string
		var m proto.Message
		if name, ok := strings.CutPrefix(r.Namespace, "#"); ok {
			what = "sequence " + name
			m, text, err = w.sequence(name)
		} else {
			what = "namespace " + name
			m, text, err = w.namespace(name)
		}
		switch {
		case err != nil:
			return err
		case text == "":
			continue
		case w.json:
			err = command.WriteJSON(w.out, m)
		default:
			fmt.Fprintf(w.out, "%s: %s\n", what, text)
		}
		if err != nil {
			return err
		}
		w.seen = append(w.seen, r.Namespace)
	}
	return nil
}
