package dashboard

import (
	"context"
	"slices"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// serverState is a server over the store.
type serverState struct {
	Label      string `json:"label"`
	Version    string `json:"version"`
	Since      int64  `json:"since"`
	This       bool   `json:"this"`
	Nodes      int64  `json:"nodes"`      // that it holds, in the namespaces that the caller may see
	Namespaces int    `json:"namespaces"` // of these
}

// readServers reads the list of servers, one question at a time. After a failure the last one
// stays.
func (sm *sampler) readServers(ctx context.Context) {
	select {
	case sm.asking <- struct{}{}:
		defer func() { <-sm.asking }()
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	list, err := sm.service.ListServers(all(ctx), nil)
	if err != nil {
		return // a store that is unreachable shows already
	}
	sm.mu.Lock()
	defer sm.mu.Unlock()
	sm.servers = list.Servers
}

// serversFor returns the servers as a caller may see them. mu is held.
func (sm *sampler) serversFor(id *server.Identity) []serverState {
	out := []serverState{}
	for _, s := range sm.servers {
		st := serverState{Label: s.Label, Version: s.Version, Since: s.Since.AsTime().UnixMilli(), This: s.This}
		for _, h := range s.Nodes {
			if id.Sees(h.Namespace) {
				st.Nodes += h.LastNode - h.FirstNode + 1
				st.Namespaces++
			}
		}
		out = append(out, st)
	}
	return out
}

// sendServers sends the servers if they differ from what the page knows.
func (p *client) sendServers(v snapshot) error {
	if slices.Equal(v.servers, p.last.servers) {
		return nil
	}
	return p.send("servers", v.servers)
}
