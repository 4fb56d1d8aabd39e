package servers

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// servedStore is the store of a server. It may come after its server.
type servedStore struct {
	flags     *command.StoreFlags
	leases    server.Later
	store     atomic.Pointer[open.Store] // nil while it is not open
	retry     <-chan time.Time           // when to try to open it again; nil while it is open
	endReason <-chan error               // why servers in place of a store give no more nodes; nil over a store
}

const (
	openTimeout = 30 * time.Second // of one attempt
	openAgain   = time.Second      // between attempts
)

// hide takes the store's passwords out of a text. Errors of a store that is
// not open have none.
func (s *servedStore) hide(text string) string {
	if st := s.store.Load(); st != nil {
		return st.Hide(text)
	}
	return text
}

func (s *servedStore) close() {
	if st := s.store.Load(); st != nil {
		_ = st.Close() // its leases were given back
	}
}

// openServed opens the store of a server, and makes it ready for one. If
// the store does not answer, the server begins without it, and this is
// called again when retry says so. Other errors stay.
func openServed(ctx context.Context, e *command.Env, c *serve.Config, s *servedStore) error {
	trying, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	st, err := s.prepare(trying, e, c)
	switch {
	case err == nil:
		s.store.Store(st)
		s.leases.Open(st.Leases)
		s.retry = nil
		return nil
	case ctx.Err() != nil || c.Agent || !open.Unreachable(err):
		return err
	}
	s.leases.Absent(fmt.Errorf("%w: start the store, or correct --store", err))
	s.retry = time.After(openAgain)
	return nil
}

// prepare opens the store, with the namespaces that a server wants.
func (s *servedStore) prepare(ctx context.Context, e *command.Env, c *serve.Config) (*open.Store, error) {
	if urls := open.Servers(c.Store); urls != nil {
		return s.over(ctx, e, c, urls)
	}
	st, err := s.flags.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	if err = firstNamespace(ctx, e, st, c); err == nil {
		err = checkSpread(ctx, e, st, c.Spread)
	}
	if err == nil && c.Agent {
		c.Quota, err = quotaOf(ctx, st, c.AgentNamespace())
	}
	if err != nil {
		_ = st.Close() // the first error is the one to tell
		return nil, err
	}
	return st, nil
}

// announceStore says whom the promise covers, once the store is open, and
// which namespaces are missing.
func announceStore(ctx context.Context, e *command.Env, s *servedStore, c *serve.Config) {
	st := s.store.Load()
	if st == nil {
		return // the log says why the server is not ready
	}
	e.Message("IDs are unique within one namespace of %s, whichever program makes them", st.Name)
	if st.Volatile {
		e.Message("that store is in memory and ends with this process: what is made after a restart is not covered")
	}
	missing, err := missingNamespaces(ctx, st, c.ReadyFor)
	if err != nil {
		c.Logger.Warn("the namespaces cannot be read", "cause", err)
	}
	for _, name := range missing {
		e.Message("the namespace %q of ready-for does not exist: the server is not ready before it is made: "+
			"snowfence namespace create %s%s", name, name, e.StoreArgs)
	}
}
