package server

import (
	"cmp"
	"context"
	"slices"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Management lists and changes the records of the store, for people and
// their tools. The caller checks the rights, and bounds the time. All
// methods are safe for concurrent use.
type Management struct {
	core      *Core
	spaces    *Spaces
	views     *Views
	sequences *Sequences
	lists     struct{ namespaces, sequences, servers listed }
}

// Managed logs a call of a manager: its message, its caller, and its end.
func (s *Management) Managed(ctx context.Context, call string, asked proto.Message, err error) {
	c := CallerOf(ctx)
	q := c.Request(call)
	what, _ := protojson.MarshalOptions{UseProtoNames: true}.Marshal(asked) // a message that was read can be written
	args := []any{"call", q.Name, "asked", string(what[:min(len(what), longestAsked)])}
	args = append(args, "who", cmp.Or(q.Certificate, q.Caller, anybody), "from", q.From)
	if err != nil {
		args = append(args, "cause", LogText(err))
	}
	s.core.opts.Logger.Info("managed", args...)
}

// longestAsked bounds the log's text of one call.
const longestAsked = 1000

// ListServers lists the servers over the store, with the namespaces that
// the caller may see.
func (s *Management) ListServers(ctx context.Context, _ *pb.ListServersRequest) (*pb.ListServersResponse, error) {
	var list []*pb.ServerInfo
	if err := s.core.reserveList(CallerOf(ctx), &s.lists.servers, func() (n int, err error) {
		list, err = listServers(ctx, s.core.store, s.core.id)
		for _, one := range list {
			n += 1 + len(one.Nodes)/8
		}
		return n, err
	}); err != nil {
		return nil, err
	}
	for _, one := range list {
		OnlySeen(CallerOf(ctx).Identity, one)
	}
	return &pb.ListServersResponse{Servers: list}, nil
}

// OnlySeen removes the fields of a server that a caller may not know. Its
// address and key are for servers.
func OnlySeen(id *Identity, one *pb.ServerInfo) {
	one.Address, one.PublicKey = "", ""
	one.Nodes = slices.DeleteFunc(one.Nodes, func(h *pb.HeldNodes) bool { return !id.Sees(h.Namespace) })
	one.Failing = slices.DeleteFunc(one.Failing, func(name string) bool { return !id.Sees(name) })
}
