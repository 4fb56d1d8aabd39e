package dashboard

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
)

// nodeUsage is how many nodes of a namespace are held, of those that can be
// leased.
type nodeUsage struct {
	Held     int64 `json:"held"`
	Leasable int64 `json:"leasable"`
	At       int64 `json:"at"` // when they were counted
}

const countEvery = 5 * time.Second // while a page watches

// countNodes counts the nodes of all namespaces, one question at a time. A
// namespace without an answer keeps its last numbers, with their time.
func (sm *sampler) countNodes(ctx context.Context) {
	select {
	case sm.countGate <- struct{}{}:
		defer func() { <-sm.countGate }()
	default:
		return
	}
	sm.mu.Lock()
	names, due := sm.names, sm.countDue
	sm.mu.Unlock()
	began := time.Now()
	if len(names) == 0 || began.Before(due) {
		return
	}
	there := map[string]bool{}
	for _, ns := range names {
		if ns.State == scope.Deleted || ctx.Err() != nil {
			continue
		}
		there[ns.Name] = true
		n, err := sm.service.Views.CountNodes(ctx, ns.Name)
		if err != nil {
			continue // a store that is unreachable shows already
		}
		sm.mu.Lock()
		sm.usage[ns.Name] = nodeUsage{Held: n.Held, Leasable: n.Leasable, At: millis(n.At)}
		sm.mu.Unlock()
	}
	sm.mu.Lock()
	defer sm.mu.Unlock()
	for name := range sm.usage {
		if !there[name] {
			delete(sm.usage, name)
		}
	}
	sm.countDue = began.Add(server.CountPause(countEvery, time.Since(began)))
}
