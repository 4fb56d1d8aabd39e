package dashboard

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/proto"
)

// gate lets one question at a time through to the store.
type gate chan struct{}

// readStore asks the store for the namespaces, the sequences and the
// servers, with all rights: a page gets the part of its token. A part
// without an answer stays as it was.
func (sm *sampler) readStore(ctx context.Context) {
	select {
	case sm.readGate <- struct{}{}:
		defer func() { <-sm.readGate }()
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	caller := &server.Caller{Identity: server.Open().Anyone()}
	defer sm.service.Ended(caller)
	ctx = server.WithCaller(ctx, caller)
	namespaces, err := sm.service.Management.ListNamespaces(ctx, nil)
	sequences, err2 := sm.service.Management.ListSequences(ctx, nil)
	servers, err3 := sm.service.Management.ListServers(ctx, nil)
	sm.mu.Lock()
	defer sm.mu.Unlock()
	sm.readAt = time.Now()
	if err == nil {
		sm.names = namespaces.Namespaces
	}
	if err2 == nil {
		sm.storedSequences = sequences.Sequences
		sm.sampleSequences()
	}
	if err3 == nil {
		sm.servers = servers.Servers
	}
}

// serversFor returns the servers as a caller may see them. mu is held.
func (sm *sampler) serversFor(id *server.Identity) *pb.ListServersResponse {
	out := proto.CloneOf(&pb.ListServersResponse{Servers: sm.servers})
	for _, s := range out.Servers {
		server.OnlySeen(id, s)
	}
	return out
}

// sendServers sends the servers if they differ from the page's.
func (p *client) sendServers(v snapshot) error {
	if p.next != nil && proto.Equal(v.servers, p.last.servers) {
		return nil
	}
	return p.sendEvent("servers", v.servers)
}
