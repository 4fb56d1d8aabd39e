package metrics

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

const usageEvery = 30 * time.Second

// Watch counts the held nodes of the open namespaces from time to time,
// until ctx ends.
func (s *Source) Watch(ctx context.Context) {
	next := time.NewTimer(time.Second) // namespaces are opened in the first moments
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		s.askStore(ctx)
		next.Reset(server.CountPause(usageEvery, time.Since(began)))
	}
}

// askStore asks the store. A namespace without an answer keeps its last
// numbers.
func (s *Source) askStore(ctx context.Context) {
	used := map[string]server.NodeCount{}
	for _, sp := range s.Service.Spaces.List() {
		u, err := s.Service.Views.CountNodes(ctx, sp.Name)
		if err != nil {
			s.mu.Lock()
			before, ok := s.nodeCounts[sp.Name]
			s.mu.Unlock()
			if !ok {
				continue
			}
			u = before
		}
		used[sp.Name] = u
	}
	s.mu.Lock()
	s.nodeCounts = used
	s.mu.Unlock()
}
