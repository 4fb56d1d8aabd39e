package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease/store"
)

// Options says how a store uses Redis. Nil and the zero value use the
// defaults, which suit a single server that syncs its append-only file.
type Options struct {
	// Prefix is the prefix of all keys; "" means "snowfence". Stores with
	// different prefixes share nothing.
	Prefix string

	// Replicas is how many replicas must acknowledge a write (WAIT) before
	// it counts. With fewer, the write fails, and the holder goes on with
	// its last grant. With 0, the grants of the last moments are lost
	// together with a master.
	Replicas int

	// AOF makes a write count only when the master, and the Replicas, have
	// it in their synced append-only files. Redis 7.2 does that with
	// WAITAOF. Before Redis 7.2, the master must have appendfsync always,
	// and replicas acknowledge received writes, not synced ones.
	AOF bool

	// Timeout limits the wait for the acknowledgements of one write; 0
	// means a second.
	Timeout time.Duration

	// ReadOnly makes the store change nothing, for tools that inspect a
	// store. It needs Redis 7. Reads fail if no program has used the server
	// since it started, because the first use writes.
	ReadOnly bool

	// Logger logs the losses of a new server in a crash ([Store.Server]).
	// Nil logs warnings and errors to slog.Default.
	Logger *slog.Logger
}

// answerTimeout is how long a call waits for the answer of a server.
const answerTimeout = 3 * time.Second

// undated is a context that ends without a deadline: with one, rueidis does
// not watch an idle connection, and the first call after a restart of the
// server fails.
type undated struct{ context.Context }

// Deadline implements [context.Context].
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// Store keeps leases in Redis. It is safe for concurrent use, and many
// processes may share a server.
type Store struct {
	store.Basic

	client rueidis.Client
	opts   Options

	calls atomic.Uint64 // calls of a script, numbered before they are sent
	waits chan struct{} // has a value for each wait for a connection

	mu      sync.Mutex
	seen    map[string]seen     // by namespace
	names   map[string]string   // namespaces that were put on the list, with what they were then
	servers map[string]*checked // by run ID
}

const mostSeen = 10_000 // anybody may ask for any name

// seen is the answer of the latest started call.
type seen struct {
	call    uint64
	id, run string
}

// New returns a store over c, which you close after all leases. It does no
// I/O: errors of the server show at the first use.
func New(c rueidis.Client, o *Options) (*Store, error) {
	opts := *cmp.Or(o, &Options{})
	opts.Prefix, opts.Timeout = cmp.Or(opts.Prefix, "snowfence"), cmp.Or(opts.Timeout, time.Second)
	opts.Logger = cmp.Or(opts.Logger, store.Warnings(slog.Default()))
	switch {
	case c == nil:
		return nil, errors.New("redisstore: the rueidis.Client is nil")
	case strings.ContainsAny(opts.Prefix, "{}"):
		return nil, fmt.Errorf("redisstore: Options.Prefix is %q; braces are kept for the hash tag of a namespace",
			opts.Prefix)
	case opts.Replicas < 0:
		return nil, fmt.Errorf("redisstore: Options.Replicas is %d; it must be 0 or more", opts.Replicas)
	case opts.Timeout < time.Millisecond:
		return nil, fmt.Errorf("redisstore: Options.Timeout is %v; it must be at least 1ms (to Redis, 0 means "+
			"for ever)", opts.Timeout)
	}
	return &Store{
		client: c, opts: opts, waits: make(chan struct{}, 16),
		seen: map[string]seen{}, names: map[string]string{}, servers: map[string]*checked{},
	}, nil
}

// chunk bounds the records of one script: the server does nothing else for
// some milliseconds.
const chunk = 500

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, keys []store.Key) (_ []store.Record, told store.Reply, _ error) {
	out := make([]store.Record, len(keys))
	for namespace, at := range byNamespace(keys, func(k store.Key) string { return k.Namespace }) {
		told = store.Reply{}
		for len(at) > 0 {
			n := min(chunk, len(at))
			args := []string{"get"}
			for _, i := range at[:n] {
				args = append(args, store.NodeText(keys[i].Node))
			}
			a, err := s.runRead(ctx, namespace, args...)
			if err == nil {
				err = told.Join(a.told())
			}
			if err != nil {
				return nil, store.Reply{}, err
			}
			for j, i := range at[:n] {
				if out[i], err = a.decodeRecord(0, j, keys[i]); err != nil {
					return nil, store.Reply{}, err
				}
			}
			at = at[n:]
		}
	}
	return out, told, nil
}

// byNamespace groups the places of a slice.
func byNamespace[T any](of []T, namespace func(T) string) map[string][]int {
	out := map[string][]int{}
	for i, x := range of {
		n := namespace(x)
		out[n] = append(out[n], i)
	}
	return out
}

// dataOf returns the name of a namespace's data, as the script that was
// started last told it. In a cluster each namespace has its own; the whole
// store has the name of the server with the set of namespaces.
func (s *Store) dataOf(ctx context.Context, namespace string) (string, error) {
	s.mu.Lock()
	last := s.seen[namespace]
	s.mu.Unlock()
	if last.id != "" {
		return last.id, nil
	}
	a, err := s.runRead(ctx, namespace, "get", store.NodeText(0))
	return a.id, err
}

// Suspect implements [store.Store], one namespace after the other: until it
// returns, some may still have the old identity.
func (s *Store) Suspect(ctx context.Context, identity string) error {
	names, err := s.listNames(ctx)
	if err != nil {
		return err
	}
	names = append(names, listName) // which has the identity of the whole store
	ids, given := make([]string, len(names)), -1
	for i, name := range names {
		a, err := s.runRead(ctx, name, "get", store.NodeText(0))
		if err != nil {
			return err
		}
		if ids[i] = a.id; "redis:"+a.id == identity {
			given = i
		}
	}
	if given < 0 {
		return nil // it has another one already
	}
	for i := range names { // the given one comes last: with it, a call after an error begins again
		i = (given + 1 + i) % len(names)
		if _, err := s.runRepeatable(ctx, suspectScript, names[i], ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// limit ends a call after a while.
func limit(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, most)
	return undated{ctx}, cancel
}

// dedicated is a connection that no other call uses.
type dedicated struct {
	rueidis.DedicatedClient
	release func()
}

// dedicate takes such a connection. rueidis waits for one without a limit.
func (s *Store) dedicate(ctx context.Context) (dedicated, error) {
	ctx, cancel := limit(ctx, answerTimeout)
	defer cancel()
	got := make(chan dedicated)
	wait := func() {
		c, release := s.client.Dedicate()
		<-s.waits
		select {
		case got <- dedicated{c, release}:
		case <-ctx.Done():
			release()
		}
	}
	select {
	case s.waits <- struct{}{}: // so that few waits outlive their calls
		go wait()
	case <-ctx.Done():
	}
	select {
	case c := <-got:
		return c, nil
	case <-ctx.Done():
		return dedicated{}, fmt.Errorf("no connection for this call alone: the server is not reached, or blocking "+
			"commands have all connections of the client (BlockingPoolSize): %w", ctx.Err())
	}
}

// explainError says where an error comes from and what to do about it.
func (s *Store) explainError(namespace string, err error) error {
	return failure(fmt.Sprintf("redisstore: namespace %q", namespace), err)
}
