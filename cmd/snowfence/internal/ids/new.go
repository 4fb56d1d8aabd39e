package ids

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
)

type newFlags struct {
	store     command.StoreFlags
	secret    command.SecretFlag
	count     int64
	layout    string
	wanted    snowfence.Layout  // the layout, parsed
	scheme    *snowfence.Scheme // of the layout; nil means the namespace's
	keys      []*snowfence.Secret
	node      nodeFlags
	format    string
	stateFile string
	stateDir  string
	slice     string
	first     int64 // of the slice
	last      int64
	at        string
	tag       string
	after     string
	wait      time.Duration
	json      bool
}

func newCommand(e *command.Env) *cobra.Command {
	var f newFlags
	cmd := &cobra.Command{
		Use: "new", Short: "Print new IDs",
		Long: `New prints IDs that are unique within one namespace of one store, whatever crashes and
however clocks step. It leases a node from the store, makes the IDs, and gives the rest back.

Without --store, the store is a file: the one for all users of this machine, if an
administrator made it, and otherwise your own ("snowfence help stores"). Two users, or two
machines, with a file each have two stores: their IDs can be the same.

The namespace has the layout. The first use makes the namespace "default", with --layout or
the layout snowfence. In a file the first use makes any other namespace too; on a server
"snowfence namespace create" makes them.`,
		Example: `  snowfence new
  snowfence new -n 5 --format dec,base32hex
  snowfence new -n 1000000000 --namespace fast --layout time=41,node=2,seq=20 > ids.txt
  snowfence new --state-dir /var/lib/app/ids
  snowfence new --node 5 --state-file /var/lib/app/node5
  snowfence new --node 5 --state-file /var/lib/app/node5 --slice 32-63
  snowfence new --namespace zones --layout twitter --within datacenter=env:ZONE
  snowfence new --namespace orders --at 2019-05-17T08:30:00Z -n 3
  snowfence new --namespace tenants --layout time=41,tag=10,node=6,seq=6 --tag 7
  snowfence new --namespace users --layout randflake --secret-file id.key`,
		Args: cobra.NoArgs,
	}
	fs := cmd.Flags()
	fs.Int64VarP(&f.count, "count", "n", 1, "how many `IDs`")
	fs.StringVar(&f.layout, "layout", "", "`name` or spec of the layout (default: the namespace's)")
	f.node.register(fs)
	fs.StringVar(&f.format, "format", "",
		"text `forms`, with commas between them: "+FormNames()+"; a column that ignores "+
			"case refuses many texts of base58, base62 and base64url (default: dec; of encrypted IDs base32hex)")
	fs.BoolVar(&f.json, "json", false, "one JSON object a line")
	fs.StringVar(&f.stateFile, "state-file", "", "no store: --node belongs to this machine alone, and this "+
		"`file` keeps it safe over restarts")
	fs.StringVar(&f.stateDir, "state-dir", "", "no store: the processes of this machine share this `folder`, and each "+
		"takes a node of its own")
	fs.StringVar(&f.slice, "slice", "", "with --state-file: only the sequence `numbers` from A to B, as in 32-63, so "+
		"that several machines share a node; overlaps between machines are not noticed")
	fs.StringVar(&f.at, "at", "", "IDs for this `time` gone by (RFC 3339), or with - for each line of standard input; "+
		"the namespace must allow it (\"snowfence namespace change --backfill\"), and no node is leased")
	fs.StringVar(&f.tag, "tag", "", "a `number` of yours in each ID, if the layout has a tag (default: 0)")
	fs.StringVar(&f.after, "state-after", "", "replace a damaged, missing or old state file; its IDs start "+
		"after this `time` (RFC 3339, or from now on, as in 3s), which must be later than all its old IDs")
	fs.DurationVar(&f.wait, "wait", 0, "how long to wait for a free node when all are taken")
	f.store.Register(fs)
	f.secret.Register(fs)
	command.CompleteLayouts(cmd, "layout")
	cmd.RunE = e.Run(func(cmd *cobra.Command, _ []string, out *bufio.Writer) error {
		if err := checkNew(e, cmd, &f); err != nil {
			return err
		}
		format, err := newFormatter(cmp.Or(f.format, snowfence.Decimal.Name()), f.json)
		if err != nil {
			return command.Usage(err)
		}
		if f.at != "" {
			return newBackfill(cmd.Context(), e, &f, format)
		}
		return newIDs(cmd.Context(), e, &f, format)
	})
	return cmd
}

// newIDs prints IDs. Text goes past the buffer that other commands print
// to: a stream has its own.
func newIDs(ctx context.Context, e *command.Env, f *newFlags, format *formatter) (err error) {
	src, err := openSource(ctx, e, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.giveBack()) }()
	setTag, err := f.tagger(src.fence.Scheme())
	if err != nil {
		return err
	}
	layout := src.fence.Scheme().Layout()
	if f.format == "" && layout.Cipher != snowfence.Plain && !f.json {
		format.encodings[0] = snowfence.Base32Hex // half of them are negative as decimals
	}
	lead := leadOf(layout)
	leased, ok := src.fence.(*lease.Lease)
	if ok { // a grant that begins far ahead is used later, and the generator waits for it
		if err := explainWait(ctx, e, leased.Status().Grant, src, lead); err != nil {
			return err
		}
	}
	g, err := snowfence.New(snowfence.Config{Fence: src.fence, Lead: lead, MaxWait: command.MaxWait})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if grant, granted := g.Grant(); granted && !ok {
		if err := explainWait(ctx, e, grant, src, lead); err != nil {
			return err
		}
	}
	explainRate(e, layout.Capacity().PerNodePerSecond, f.count)
	return stream(ctx, tagged{g, setTag}, format, e.Stdout, f.count)
}

// tagger returns what gives new IDs the tag of the command line, if there
// is one.
func (f *newFlags) tagger(s *snowfence.Scheme) (func([]snowfence.ID) error, error) {
	if f.tag == "" {
		return func([]snowfence.ID) error { return nil }, nil
	}
	tag, err := strconv.ParseInt(f.tag, 10, 64)
	if err != nil {
		return nil, command.Usagef("--tag %s: give a number from 0 up", f.tag)
	}
	first, err := s.Compose(snowfence.Parts{})
	if err == nil {
		_, err = s.Tag(first, tag)
	}
	if err != nil {
		return nil, command.Usagef("--tag: %w", err)
	}
	return func(ids []snowfence.ID) (err error) {
		for i := range ids {
			if ids[i], err = s.Tag(ids[i], tag); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// tagged makes IDs with a tag.
type tagged struct {
	filler
	setTag func([]snowfence.ID) error
}

func (t tagged) Fill(ctx context.Context, dst []snowfence.ID) (int, error) {
	n, err := t.filler.Fill(ctx, dst)
	return n, cmp.Or(err, t.setTag(dst[:n]))
}

// streamBatch is how many IDs are made and written at once.
const streamBatch = 4096

// filler is the part of a generator that stream uses.
type filler interface {
	Fill(ctx context.Context, dst []snowfence.ID) (int, error)
}

// stream writes n IDs. After an error it has written the IDs before it.
func stream(ctx context.Context, g filler, f *formatter, w io.Writer, n int64) error {
	ids := make([]snowfence.ID, min(n, streamBatch))
	var text []byte
	for n > 0 && ctx.Err() == nil {
		got, err := g.Fill(ctx, ids[:min(n, streamBatch)])
		text = f.append(text[:0], ids[:got])
		if _, writeErr := w.Write(text); writeErr != nil {
			return fmt.Errorf("standard output: %w", writeErr)
		}
		n -= int64(got)
		if err != nil {
			return err
		}
	}
	if n > 0 {
		return ctx.Err()
	}
	return nil
}

// leadOf lets a tick's worth of IDs be made before its time, so that short
// runs need not wait for ticks: it does not matter that a timestamp is 10
// ms early.
func leadOf(l snowfence.Layout) int64 {
	if l.Equal(snowfence.MustLayout("drift")) {
		return 2000 // what generators of this layout do
	}
	return int64(10 * time.Millisecond / l.Tick)
}

// explainRate says once, in a long run of n IDs, that the layout limits the
// rate, in IDs a second.
func explainRate(e *command.Env, rate float64, n int64) {
	took := float64(n) / rate
	if took < 3 {
		return
	}
	e.Message("the layout allows %s per node, so this takes %s; a namespace with more sequence bits is faster, "+
		"but its IDs can equal these (--namespace fast --layout time=41,node=2,seq=20)",
		show.PerSecond(rate), show.Approximately(took))
}
