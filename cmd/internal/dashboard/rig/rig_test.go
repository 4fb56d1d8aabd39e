// Rig is a server for the tests of the dashboard: a real one over a store
// in memory, with holders, faults and IDs as its standard input asks for.
// It prints its address, and ok for each line that was carried out.
package rig

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// TestMain is the program, where RIG is set: to its path, by the tests of
// the dashboard.
func TestMain(m *testing.M) {
	if os.Getenv("RIG") == "" {
		os.Exit(m.Run())
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rig:", err)
		os.Exit(1)
	}
}

type rig struct {
	store   *faulty
	process *serve.Process
	others  []*serve.Process

	mu      sync.Mutex
	holders map[store.Key]string // labels of programs whose leases the rig renews
	rates   map[string]int
	counts  map[string]int // of sequences
}

// faulty is a store that can be unreachable.
type faulty struct {
	*store.Memory
	mu    sync.Mutex
	away  bool
	large string // a namespace with very many nodes
}

var errAway = errors.New("dial tcp 10.0.0.7:5432: connect: connection refused")

func (f *faulty) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errAway
	}
	return nil
}

// Get implements [store.Store].
func (f *faulty) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if err := f.trouble(); err != nil {
		return nil, store.Reply{}, err
	}
	return f.Memory.Get(ctx, keys)
}

// List implements [store.Store].
func (f *faulty) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (_ []store.Record, reply store.Reply, _ error) {
	if err := f.trouble(); err != nil {
		return nil, reply, err
	}
	f.mu.Lock()
	large := f.large
	f.mu.Unlock()
	if namespace != large || nodes.From < 0 {
		return f.Memory.List(ctx, namespace, nodes, limit)
	}
	// The store in memory looks at all records for each page, which other
	// stores do not.
	var out []store.Record
	for first := nodes.From; first < min(nodes.Until, 1<<17) && len(out) < limit; first++ {
		rs, answer, err := f.Memory.Get(ctx, []store.Key{{Namespace: namespace, Node: first}})
		if err != nil {
			return nil, answer, err
		}
		reply = answer
		if rs[0].Nonce != "" {
			out = append(out, rs[0])
		}
	}
	return out, reply, nil
}

// Heads implements [store.Store].
func (f *faulty) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	if err := f.trouble(); err != nil {
		return nil, store.Reply{}, err
	}
	return f.Memory.Heads(ctx)
}

// Add implements [store.Store].
func (f *faulty) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	if err := f.trouble(); err != nil {
		return store.Record{}, store.Reply{}, err
	}
	return f.Memory.Add(ctx, a)
}

// Swap implements [store.Store].
func (f *faulty) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	if err := f.trouble(); err != nil {
		errs := make([]error, len(writes))
		for i := range errs {
			errs[i] = err
		}
		return errs, nil, store.Reply{}
	}
	return f.Memory.Swap(ctx, writes)
}

func run() error {
	tokens := flag.String("tokens", "", "`file` of tokens")
	address := flag.String("http", "127.0.0.1:0", "`address`")
	flag.Parse()
	r := &rig{
		store: &faulty{Memory: store.NewMemory()}, holders: map[store.Key]string{}, rates: map[string]int{},
		counts: map[string]int{},
	}
	var err error
	r.process, err = serve.Start(context.Background(), serve.Config{
		Listeners: serve.Listeners{HTTP: *address}, Access: serve.Access{Tokens: *tokens},
		Limits: serve.Limits{Slow: 10 * time.Second}, Stopping: serve.Stopping{Stop: 5 * time.Second},
		Options: server.Options{Version: "rig", Label: "ids-1", TTL: 15 * time.Second},
	}, r.store)
	if err != nil {
		return err
	}
	fmt.Println("http://" + r.process.HTTP)
	go r.work()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if err := r.do(strings.Fields(in.Text())); err != nil {
			return fmt.Errorf("%s: %w", in.Text(), err)
		}
		fmt.Println("ok")
	}
	stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	errs := []error{r.process.Stop(stop)}
	for _, p := range r.others {
		errs = append(errs, p.Stop(stop))
	}
	return errors.Join(errs...)
}

// work renews leases and makes IDs, ten times a second.
func (r *rig) work() {
	for n := 0; ; n++ {
		r.mu.Lock()
		for ns, rate := range r.rates {
			_ = r.ids(ns, max(rate/10, 1)) // while the store is unreachable there are none
		}
		for name, rate := range r.counts {
			_ = r.numbers(name, int64(max(rate/10, 1)))
		}
		if n%20 == 0 {
			for key, label := range r.holders {
				_ = r.write(key, 1, label, 15*time.Second)
			}
		}
		r.mu.Unlock()
		time.Sleep(100 * time.Millisecond)
	}
}

// ids makes IDs as a wire does.
func (r *rig) ids(ns string, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	sp, err := r.process.Service().Spaces.Find(ctx, ns)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := sp.Fill(ctx, make([]snowfence.ID, n)); err != nil {
		return err
	}
	r.process.Service().Answered(server.RESP, int64(n), time.Since(began),
		func() server.Request { return server.Request{} })
	return nil
}

// numbers takes numbers as a wire does.
func (r *rig) numbers(name string, n int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := r.process.Service().Sequences.Take(ctx, &server.Caller{Identity: server.Open().Anyone()}, name, 0, n, 0)
	return err
}

// write writes renewals of n nodes of a holder. Its label may be a format
// for the index of the node.
func (r *rig) write(first store.Key, n int64, label string, ttl time.Duration) error {
	ctx, now := context.Background(), time.Now()
	ns, err := scope.Namespaces(r.store.Memory).Show(ctx, first.Namespace)
	if err != nil {
		return err
	}
	for i := range n {
		key := store.Key{Namespace: first.Namespace, Node: first.Node + i}
		old, _, err := r.store.Memory.Get(ctx, []store.Key{key})
		if err != nil {
			return err
		}
		next := old[0]
		next.Key, next.Holder, next.Label, next.Generation = key, "rig", label, ns.Generation
		next.At = now.UnixMilli()
		if strings.Contains(label, "%") {
			next.Label = fmt.Sprintf(label, i)
		}
		next.Nonce, next.Revision = fmt.Sprint("rig-", next.Revision+1), next.Revision+1
		next.PrevUntil, next.From, next.Until = old[0].Until, ns.Layout.TickOf(now), ns.Layout.TickOf(now.Add(ttl))
		if _, err := store.Put(ctx, r.store.Memory, store.Write{Old: old[0].Nonce, New: next}); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) do(words []string) error {
	if len(words) == 0 {
		return errors.New("an empty line")
	}
	ctx := context.Background()
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(arg(i), 10, 64); return n }
	key := store.Key{Namespace: arg(1), Node: number(2)}
	service := r.process.Service()
	switch words[0] {
	case "away", "back":
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		r.store.away = words[0] == "away"
		return nil
	case "server": // LABEL: another one over the store
		other, err := serve.Start(ctx, serve.Config{
			Listeners: serve.Listeners{HTTP: "127.0.0.1:0"}, Limits: serve.Limits{Slow: 10 * time.Second},
			Stopping: serve.Stopping{Stop: 5 * time.Second}, Options: server.Options{Version: "rig", Label: arg(1)},
		}, r.store)
		if err == nil {
			r.others = append(r.others, other)
		}
		return err
	case "fail": // COUNT: requests that failed, and one that was refused
		about := func() server.Request { return server.Request{Name: "INCR"} }
		for range number(1) {
			service.Failed(server.RESP, server.Errorf(server.Unavailable, "no lease is held"), about)
		}
		service.Failed(server.HTTP, server.Errorf(server.Invalid, "n is no number"), about)
		return nil
	case "namespace": // NAME LAYOUT FIRST LAST
		m := &pb.CreateNamespaceRequest{Name: arg(1), Layout: arg(2)}
		if first, last := number(3), number(4); last > 0 {
			m.FirstNode, m.LastNode = &first, &last
		}
		_, err := service.Management.CreateNamespace(ctx, m)
		return err
	case "delete":
		_, err := service.Management.DeleteNamespace(ctx, &pb.DeleteNamespaceRequest{Name: arg(1), Confirm: arg(1)})
		return err
	case "sequence": // NAME MODE MAX PATTERN
		m := &pb.SequenceCreateRequest{Name: arg(1), Mode: arg(2), Pattern: arg(4)}
		if most := number(3); most > 0 {
			m.Max = &most
		}
		_, err := service.Management.CreateSequence(ctx, m)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch words[0] {
	case "count": // SEQUENCE A-SECOND
		r.counts[arg(1)] = int(number(2))
		if number(2) == 0 {
			delete(r.counts, arg(1))
		}
	case "rate": // NAMESPACE A-SECOND
		r.rates[arg(1)] = int(number(2))
	case "hold": // NAMESPACE NODE LABEL
		r.holders[key] = arg(3)
		return r.write(key, 1, arg(3), 15*time.Second)
	case "leave": // NAMESPACE NODE: it is not renewed any more
		delete(r.holders, key)
	case "once": // NAMESPACE NODE LABEL MS: held for so long, and never renewed
		return r.write(key, 1, arg(3), time.Duration(number(4))*time.Millisecond)
	case "fill": // NAMESPACE FIRST COUNT: held for an hour
		r.store.mu.Lock()
		r.store.large = arg(1)
		r.store.mu.Unlock()
		return r.write(key, number(3), "worker-%05d", time.Hour)
	case "block": // NAMESPACE FIRST COUNT LABEL: nodes that one lease holds for an hour
		return r.write(key, number(3), arg(4), time.Hour)
	case "veto": // NAMESPACE NODE REASON
		_, err := scope.Namespaces(r.store.Memory).Veto(ctx, arg(1), number(2), strings.Join(words[3:], " "))
		return err
	default:
		return errors.New("what?")
	}
	return nil
}
