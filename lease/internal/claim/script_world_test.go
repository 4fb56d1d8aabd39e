package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// start is when each scene begins: tick 100000 of playLayout.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var errSilent = errors.New("no answer")

var quiet = slog.New(slog.DiscardHandler)

const playLayout = "time=41,rollback=2,node=8,seq=12,epoch=2025-12-31T23:58:20Z"

// play is a scene of a script, and its world: a clock that stands still
// until it is moved, and numbers from a seed.
type play struct {
	*testing.T
	*store.Memory
	out     strings.Builder
	now     time.Time
	seed    *mrand.PCG
	texts   int
	machine atomic.Uint64
	scheme  *snowfence.Scheme
	id      string         // of the store
	clock   *time.Duration // by which the store's is off; nil for none
	rides   bool           // the store reads in the round trip of a swap
	saved   []store.Record
	before  []string // calls of the command before
	calls   []string // of this one
	traps   []trap
	late    []store.Write
	players map[string]*player
	names   map[string]string // of holders, by their random identity
	busy    bool              // a step is under way
	over    bool              // the context of the next one has ended
	cancel  context.CancelFunc
}

func newPlay(t *testing.T, scheme string) *play {
	p := &play{
		T: t, Memory: store.NewMemory(), now: start, seed: mrand.NewPCG(1, 2), id: "one",
		players: map[string]*player{}, names: map[string]string{},
	}
	if scheme == "" {
		scheme = playLayout
	}
	p.scheme = p.schemeOf(strings.Fields(scheme))
	must(scope.Namespaces(storage{p}).Create(p.ctx(), "n", p.scheme, nil))
	return p
}

// schemeOf has a layout, and secrets that are 16 times one letter, as in
// "secrets=a,b".
func (p *play) schemeOf(word []string) *snowfence.Scheme {
	var keys []*snowfence.Secret
	for _, w := range word[1:] {
		for letter := range strings.SplitSeq(strings.TrimPrefix(w, "secrets="), ",") {
			var key *snowfence.Secret
			if letter != "" {
				var err error
				if key, err = snowfence.NewSecret([]byte(strings.Repeat(letter, 16))); err != nil {
					p.Fatal(err)
				}
			}
			keys = append(keys, key)
		}
	}
	s, err := snowfence.NewScheme(snowfence.MustLayout(word[0]), keys...)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *play) ctx() context.Context {
	ctx, cancel := context.WithCancel(world.With(context.Background(), p))
	if p.cancel = cancel; p.over {
		p.over = false
		cancel()
	}
	return ctx
}

func (p *play) Now() time.Time         { return p.now }
func (p *play) Uint64() uint64         { return p.seed.Uint64() }
func (p *play) Machine() world.Machine { return world.At(&p.machine) }
func (p *play) Go(f func())            { f() }

func (p *play) Text() string {
	p.texts++
	return fmt.Sprintf("T%025d", p.texts)
}

func (p *play) Wait(d time.Duration, chans ...<-chan struct{}) int {
	_, after, _ := p.called("pause")
	defer after()
	select {
	case <-chans[0]:
		return 0
	default:
	}
	p.say("pauses %v", d.Round(time.Millisecond))
	p.now = p.now.Add(d)
	return -1
}

func (p *play) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func keyName(k store.Key) string {
	if k.Node == store.NamespaceNode {
		return "namespace"
	}
	return fmt.Sprint(k.Node)
}

func (p *play) key(name string) store.Key {
	if name == "namespace" {
		return store.Key{Namespace: "n", Node: store.NamespaceNode}
	}
	return store.Key{Namespace: "n", Node: p.number(name)}
}

func (p *play) record(k store.Key) store.Record {
	rs, _, err := p.Memory.Get(context.Background(), []store.Key{k})
	if err != nil {
		p.Fatal(err)
	}
	return rs[0]
}

func (p *play) records() []store.Record {
	all := snowfence.NodeRange{From: store.NamespaceNode, Until: 1 << 40}
	rs, _, err := p.Memory.List(context.Background(), "n", all, 1<<20)
	if err != nil {
		p.Fatal(err)
	}
	return rs
}

// replace writes a record by other means.
func (p *play) replace(r store.Record) {
	w := []store.Write{{Old: p.record(r.Key).Nonce, New: r}}
	if _, err := store.Put(context.Background(), p.Memory, w[0]); err != nil {
		p.Fatal(err)
	}
}

// trap is what becomes of a call to come.
type trap struct{ when, call, key, does string }

// lay lays a trap for the next call: "swap lose", "swap 5 drop", "before
// get namespace: store two".
func (p *play) lay(command string) {
	var t trap
	if word := strings.Fields(command); word[0] == "before" || word[0] == "after" {
		t.when = word[0]
		command, t.does, _ = strings.Cut(strings.TrimPrefix(command, t.when+" "), ": ")
	} else {
		t.does = word[len(word)-1]
		command = strings.TrimSuffix(command, " "+t.does)
	}
	t.call, t.key, _ = strings.Cut(command, " ")
	p.traps = append(p.traps, t)
}

// meet takes the next trap of a call, and returns what it does.
func (p *play) meet(when, call, key string) (does string) {
	for i, t := range p.traps {
		if t.when == when && t.call == call && (t.key == "" || t.key == key) {
			p.traps = slices.Delete(p.traps, i, i+1)
			return t.does
		}
	}
	return ""
}

// called notes a call. It returns its fate, as a word and as an error, and
// the work that comes after it.
func (p *play) called(call string, keys ...store.Key) (becomes string, after func(), err error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyName(k)
	}
	first := strings.Join(names[:min(len(names), 1)], "")
	p.calls = append(p.calls, strings.TrimSpace(call+" "+strings.Join(names, " ")))
	if len(p.calls) > 1000 {
		panic("a thousand calls") // a loop without an end
	}
	if does := p.meet("before", call, first); does != "" {
		p.do(does)
	}
	if becomes = p.meet("", call, first); becomes != "" {
		err = errSilent
	}
	for _, k := range kinds {
		if k.name == becomes {
			err = k.err
		}
	}
	return becomes, func() {
		if does := p.meet("after", call, first); does != "" {
			p.do(does)
		}
	}, err
}

// storage is the store of a scene.
type storage struct{ *play }

func (s storage) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	_, after, err := s.called("get", keys...)
	defer after()
	if err != nil {
		return nil, store.Reply{}, err
	}
	rs, _, err := s.Memory.Get(ctx, keys)
	return rs, s.reply(), err
}

// reply is the answer of the store about itself.
func (s storage) reply() store.Reply {
	r := store.Reply{Identity: s.id}
	if s.clock != nil {
		r.Now = s.now.Add(*s.clock)
	}
	return r
}

func (s storage) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	_, after, err := s.called("list")
	defer after()
	if err != nil {
		return nil, store.Reply{}, err
	}
	rs, _, err := s.Memory.List(ctx, namespace, nodes, limit)
	return rs, s.reply(), err
}

func (s storage) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (errs []error, read []store.Record, _ store.Reply) {
	keys := make([]store.Key, len(writes))
	for i, w := range writes {
		keys[i] = w.New.Key
	}
	becomes, after, err := s.called("swap", keys...)
	defer after()
	s.Memory.Swap(context.Background(), s.late)
	s.late = nil
	if !s.rides {
		then = nil
	}
	errs = make([]error, len(writes))
	switch becomes {
	case "", "lose", "half":
		errs, read, _ = s.Memory.Swap(ctx, writes, then...)
	case "late":
		s.late = writes
	}
	for i, w := range writes {
		if err != nil && (becomes != "half" || i > 0) {
			errs[i] = err
		}
		result := "done"
		if errs[i] != nil {
			result = kindOf(errs[i])
		}
		s.say("writes %s: %s", s.text(w.New), result)
	}
	return errs, read, s.reply()
}

func (s storage) Suspect(_ context.Context, identity string) error {
	_, after, err := s.called("suspect")
	defer after()
	if err == nil && s.id == identity {
		s.id += "+"
		s.say("the store is %s", s.id)
	}
	return err
}

// Pin is called for each lease and each call of a server. It must not stay.
func (s storage) Pin(context.Context) (unpin func(), err error) {
	_, after, err := s.called("pin")
	defer after()
	if err != nil {
		return nil, err
	}
	return func() { s.calls = append(s.calls, "unpin") }, nil
}

// counter is the server of a scene, over its store.
type counter struct{ *play }

func (c counter) answer(call string, serve func(wire.Server) (wire.Lease, error)) (a wire.Lease, err error) {
	becomes, after, failed := c.called(call)
	defer after()
	alters := strings.Contains(becomes, "=")
	if failed != nil && becomes != "lose" && !alters {
		return a, failed
	}
	clock := func() (time.Time, time.Duration) { return c.now, c.now.Sub(start) }
	n := Settings{Clock: ClockOf(clock, c.scheme), Logger: quiet, Create: c.record(c.key("namespace")).Nonce == ""}
	begin := func(world.World, string) (Report, func()) {
		e := &events{play: c.play}
		return e.report, e.announce
	}
	if a, err = serve(Serve(storage(c), c.scheme, n, begin)); becomes == "lose" {
		return wire.Lease{}, errSilent
	}
	switch {
	case becomes == "ticket=":
		a.Ticket = nil
	case becomes == "ttl=":
		a.TTL = -1
	case alters:
		c.set(&a.Grant, []string{becomes})
	}
	return a, err
}

func (c counter) Acquire(ctx context.Context, name string, r wire.Request) (wire.Lease, error) {
	return c.answer("acquire", func(s wire.Server) (wire.Lease, error) { return s.Acquire(ctx, name, r) })
}

func (c counter) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	return c.answer("renew", func(s wire.Server) (wire.Lease, error) { return s.Renew(ctx, t, attempt, earlier) })
}

func (c counter) Release(ctx context.Context, t wire.Ticket, used int64) error {
	_, err := c.answer("release", func(s wire.Server) (wire.Lease, error) {
		return wire.Lease{}, s.Release(ctx, t, used)
	})
	return err
}
