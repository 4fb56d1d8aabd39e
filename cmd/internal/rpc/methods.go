package rpc

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	api "github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Method is a call of the protocol with one answer: its right, and its
// function.
type Method struct {
	Procedure  string      // as in a path: /snowfence.v1.NamespaceService/Show
	Verb       server.Verb // that its caller needs; "" where the method looks itself
	Descriptor protoreflect.MethodDescriptor

	New func() proto.Message // makes an empty request
	do  func(ctx context.Context, m proto.Message) (proto.Message, error)

	handler func(opts ...connect.HandlerOption) http.Handler
}

// Methods returns all methods of the protocol.
func Methods(s *server.Service) []*Method {
	r := &rpc{s: s, others: newForwarding(s)}
	ids, leases := ids{r}, leases{r}
	return []*Method{
		method(api.IDServiceNextProcedure, "", ids.Next),
		method(api.IDServiceNextAtProcedure, "", ids.NextAt),
		method(api.IDServiceDecodeProcedure, server.VerbRead, ids.Decode),
		method(api.IDServiceRangeProcedure, server.VerbRead, ids.Range),
		method(api.NamespaceServiceListProcedure, server.VerbRead, s.Management.ListNamespaces),
		method(api.NamespaceServiceShowProcedure, server.VerbRead, s.Management.ShowNamespace),
		managing(s, api.NamespaceServiceCreateProcedure, s.Management.CreateNamespace),
		managing(s, api.NamespaceServiceChangeProcedure, s.Management.ChangeNamespace),
		managing(s, api.NamespaceServiceDeleteProcedure, s.Management.DeleteNamespace),
		method(api.LeaseServiceAcquireProcedure, "", leases.Acquire),
		method(api.LeaseServiceRenewProcedure, "", leases.Renew),
		method(api.LeaseServiceRenewAllProcedure, "", leases.RenewAll),
		method(api.LeaseServiceReleaseProcedure, "", leases.Release),
		method(api.LeaseServiceListProcedure, server.VerbRead, s.Management.ListLeases),
		managing(s, api.LeaseServiceReleaseNodeProcedure, s.Management.ReleaseNode),
		managing(s, api.LeaseServiceVetoProcedure, s.Management.Veto),
		method(api.SequenceServiceNextProcedure, "", ids.NextNumbers),
		method(api.SequenceServiceListProcedure, server.VerbRead, s.Management.ListSequences),
		method(api.SequenceServiceShowProcedure, server.VerbRead, s.Management.ShowSequence),
		managing(s, api.SequenceServiceCreateProcedure, s.Management.CreateSequence),
		managing(s, api.SequenceServiceChangeProcedure, s.Management.ChangeSequence),
		managing(s, api.SequenceServiceConfirmProcedure, s.Management.ConfirmSequence),
		managing(s, api.SequenceServiceDeleteProcedure, s.Management.DeleteSequence),
		method(api.ServerServiceListProcedure, server.VerbRead, s.Management.ListServers),
	}
}

// managing returns a method for managers. Each call of it is one line of
// the log.
func managing[Req, Res any, Q message[Req], A message[Res]](
	s *server.Service, procedure string, do func(context.Context, *Req) (*Res, error),
) *Method {
	return method[Req, Res, Q, A](procedure, server.VerbManage, func(ctx context.Context, in *Req) (*Res, error) {
		out, err := do(ctx, in)
		s.Management.Managed(ctx, procedure, Q(in), err)
		return out, err
	})
}

// message is a pointer to a T, as generated code has it.
type message[T any] interface {
	*T
	proto.Message
}

func method[Req, Res any, Q message[Req], A message[Res]](
	procedure string, verb server.Verb, do func(context.Context, *Req) (*Res, error),
) *Method {
	service, name, _ := strings.Cut(strings.TrimPrefix(procedure, "/snowfence.v1."), "/")
	services := pb.File_snowfence_v1_snowfence_proto.Services()
	m := &Method{
		Procedure: procedure, Verb: verb, New: func() proto.Message { return Q(new(Req)) },
		Descriptor: services.ByName(protoreflect.Name(service)).Methods().ByName(protoreflect.Name(name)),
	}
	if verb != "" { // it asks the store, and does nothing else
		asks := do
		do = func(ctx context.Context, in *Req) (*Res, error) {
			ctx, cancel := server.WithStoreTimeout(ctx)
			defer cancel()
			return asks(ctx, in)
		}
	}
	m.do = func(ctx context.Context, in proto.Message) (proto.Message, error) {
		out, err := do(ctx, in.(Q))
		if err != nil {
			return nil, err
		}
		return A(out), nil
	}
	m.handler = func(opts ...connect.HandlerOption) http.Handler {
		if o, ok := m.Descriptor.Options().(*descriptorpb.MethodOptions); ok &&
			o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
			opts = append(opts, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
		}
		call := func(ctx context.Context, in *Req) (*Res, error) {
			if err := m.Authorize(ctx, Q(in)); err != nil {
				return nil, err
			}
			return do(ctx, in)
		}
		return connect.NewUnaryHandlerSimple(procedure, call, append(opts, connect.WithSchema(m.Descriptor))...)
	}
	return m
}

// Authorize refuses a request that the caller has no right to. It sets an
// empty name of a namespace to "default".
func (m *Method) Authorize(ctx context.Context, in proto.Message) error {
	if m.Verb == "" {
		return nil
	}
	name := ""
	if f := m.Subject(); f != nil {
		r := in.ProtoReflect()
		if !r.Has(f) && m.Descriptor.Parent().Name() != "SequenceService" {
			r.Set(f, protoreflect.ValueOfString(lease.DefaultNamespace))
		}
		name = r.Get(f).String()
	}
	return server.CallerOf(ctx).Authorize(m.Verb, name, 1)
}

// Do carries out a request that is authorized.
func (m *Method) Do(ctx context.Context, in proto.Message) (proto.Message, error) {
	return m.do(ctx, in)
}

// Subject is the field with the name of a request's subject; nil if there
// is none.
func (m *Method) Subject() protoreflect.FieldDescriptor {
	fields := m.Descriptor.Input().Fields()
	if f := fields.ByName("namespace"); f != nil {
		return f
	}
	return fields.ByName("name")
}
