package metrics

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// usage is how much of a namespace's node space is taken.
type usage struct {
	held, leasable int64
	owners         map[string]int64 // nodes held by the token that their labels name
}

const (
	usageEvery = 30 * time.Second

	// usageShare bounds the part of the time in which the store is asked how many nodes
	// are held: a list of 131,072 is long.
	usageShare = 50
)

// Watch counts the nodes that are held in the namespaces that are open, now and then,
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
		s.count(ctx)
		next.Reset(max(usageEvery, usageShare*time.Since(began)))
	}
}

// count asks the store. What it does not answer keeps its last numbers.
func (s *Source) count(ctx context.Context) {
	used := map[string]usage{}
	for _, sp := range s.Service.Spaces() {
		u, err := s.countHeld(ctx, sp.Name)
		if err != nil {
			s.mu.Lock()
			before, ok := s.used[sp.Name]
			s.mu.Unlock()
			if !ok {
				continue
			}
			u = before
		}
		used[sp.Name] = u
	}
	s.mu.Lock()
	s.used = used
	s.mu.Unlock()
}

func (s *Source) countHeld(ctx context.Context, name string) (u usage, err error) {
	v, err := s.Service.View(ctx, name)
	if err != nil {
		return u, err
	}
	u.held, u.leasable = v.Usage()
	u.owners = map[string]int64{}
	for _, l := range v.Leases {
		if l.Held {
			u.owners[server.OwnerOf(l.Label)]++
		}
	}
	return u, nil
}
