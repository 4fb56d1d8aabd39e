package rpc

import (
	"context"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type namespaces struct{ *rpc }

func protoNamespace(n server.NamespaceInfo) *pb.Namespace {
	out := &pb.Namespace{
		Name: n.Name, Layout: n.Layout, Fingerprint: n.Fingerprint, FirstNode: n.First, LastNode: n.Last,
		State: n.State, Generation: n.Generation, EndOfLife: timestamppb.New(n.EndOfLife),
	}
	for _, p := range n.Past {
		past := &pb.PastLayout{Layout: p.Layout, From: timestamppb.New(p.From), Until: timestamppb.New(p.Until)}
		out.Past = append(out.Past, past)
	}
	return out
}

func namespaceResponse(n server.NamespaceInfo, err error) (*response[pb.Namespace], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(protoNamespace(n)), nil
}

func (r namespaces) Create(
	ctx context.Context, req *request[pb.CreateNamespaceRequest],
) (*response[pb.Namespace], error) {
	name, _, err := r.authorize(ctx, server.VerbManage, req.Msg.Name, 1)
	if err != nil {
		return nil, err
	}
	w := server.NamespaceSpec{Layout: req.Msg.Layout, First: req.Msg.FirstNode, Last: req.Msg.LastNode}
	info, _, err := r.s.CreateNamespace(ctx, name, w)
	return namespaceResponse(info, err)
}

func (r namespaces) Show(ctx context.Context, req *request[pb.ShowNamespaceRequest]) (*response[pb.Namespace], error) {
	name, id, err := r.authorize(ctx, server.VerbRead, req.Msg.Name, 1)
	if err != nil {
		return nil, err
	}
	res, err := namespaceResponse(r.s.ShowNamespace(ctx, name))
	if err != nil || !req.Msg.Secrets {
		return res, err
	}
	if err := id.Authorize(server.VerbLease, name, 0); err != nil {
		return nil, err
	}
	sp, err := r.s.Space(ctx, name)
	if err == nil {
		res.Msg.Secrets, err = r.s.Secrets(sp)
	}
	return res, err
}

func (r namespaces) List(ctx context.Context,
	_ *request[pb.ListNamespacesRequest],
) (*response[pb.ListNamespacesResponse], error) {
	id, err := r.identify(ctx)
	if err == nil {
		err = id.Authorize(server.VerbRead, "", 1)
	}
	if err != nil {
		return nil, err
	}
	list, err := r.s.Namespaces(ctx, id)
	if err != nil {
		return nil, err
	}
	res := &pb.ListNamespacesResponse{}
	for _, n := range list {
		res.Namespaces = append(res.Namespaces, protoNamespace(n))
	}
	return connect.NewResponse(res), nil
}

func (r namespaces) Change(
	ctx context.Context, req *request[pb.ChangeNamespaceRequest],
) (*response[pb.Namespace], error) {
	name, _, err := r.authorize(ctx, server.VerbManage, req.Msg.Name, 1)
	if err != nil {
		return nil, err
	}
	m := req.Msg
	w := server.NamespaceSpec{Layout: m.Layout, First: m.FirstNode, Last: m.LastNode, Widen: m.Widen}
	if t := req.Msg.Unused; t != nil {
		w.Unused = t.AsTime()
	}
	return namespaceResponse(r.s.ChangeNamespace(ctx, name, w))
}

func (r namespaces) Delete(
	ctx context.Context, req *request[pb.DeleteNamespaceRequest],
) (*response[pb.DeleteNamespaceResponse], error) {
	name, _, err := r.authorize(ctx, server.VerbManage, req.Msg.Name, 1)
	if err != nil {
		return nil, err
	}
	if err := r.s.DeleteNamespace(ctx, name, req.Msg.Confirm); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.DeleteNamespaceResponse{}), nil
}
