package rpc

import (
	"context"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type servers struct{ *rpc }

func (r servers) List(
	ctx context.Context, _ *request[pb.ListServersRequest],
) (*response[pb.ListServersResponse], error) {
	id, err := r.identify(ctx)
	if err == nil {
		err = id.Authorize(server.VerbRead, "", 1)
	}
	if err != nil {
		return nil, err
	}
	list, err := r.s.Servers(ctx, id)
	if err != nil {
		return nil, err
	}
	res := &pb.ListServersResponse{}
	for _, s := range list {
		out := &pb.ServerInfo{
			Label: s.Label, Version: s.Version, Since: timestamppb.New(s.Since), Seen: timestamppb.New(s.Seen),
			This: s.This,
		}
		for _, h := range s.Nodes {
			out.Nodes = append(out.Nodes, &pb.HeldNodes{Namespace: h.Namespace, FirstNode: h.First, LastNode: h.Last})
		}
		res.Servers = append(res.Servers, out)
	}
	return connect.NewResponse(res), nil
}
