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

// ask puts a question to the store as a caller who sees everything, unless the same one is under
// way, and hands the answer over with mu held. A page gets what its token may see.
func ask[Q, A any](
	ctx context.Context, sm *sampler, g gate, question func(context.Context, *Q) (*A, error), keep func(*A, error),
) {
	select {
	case g <- struct{}{}:
		defer func() { <-g }()
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	everything := server.WithCaller(ctx, &server.Caller{Identity: server.Open().Anyone()})
	answer, err := question(everything, nil)
	sm.mu.Lock()
	defer sm.mu.Unlock()
	keep(answer, err)
}

// readNamespaces reads the namespaces, which also tells whether the store answers. After a failure
// those that are known stay, here and below: a store that is unreachable shows already.
func (sm *sampler) readNamespaces(ctx context.Context) {
	ask(ctx, sm, sm.reading, sm.service.ListNamespaces, func(list *pb.ListNamespacesResponse, err error) {
		if sm.askedAt = time.Now(); err == nil {
			sm.names = list.Namespaces
		}
	})
}

// readSequences reads the sequences.
func (sm *sampler) readSequences(ctx context.Context) {
	ask(ctx, sm, sm.listing, sm.service.ListSequences, func(list *pb.SequenceListResponse, err error) {
		if err == nil {
			sm.listed, sm.listedAt = list.Sequences, time.Now()
			sm.sampleSequences()
		}
	})
}

// readServers reads the servers.
func (sm *sampler) readServers(ctx context.Context) {
	ask(ctx, sm, sm.asking, sm.service.ListServers, func(list *pb.ListServersResponse, err error) {
		if err == nil {
			sm.servers = list.Servers
		}
	})
}

// serversFor returns the servers as a caller may see them. mu is held.
func (sm *sampler) serversFor(id *server.Identity) *pb.ListServersResponse {
	out := proto.CloneOf(&pb.ListServersResponse{Servers: sm.servers})
	for _, s := range out.Servers {
		server.OnlySeen(id, s)
	}
	return out
}

// sendServers sends the servers if they differ from what the page knows.
func (p *client) sendServers(v snapshot) error {
	if p.next != nil && proto.Equal(v.servers, p.last.servers) {
		return nil
	}
	return p.send("servers", v.servers)
}
