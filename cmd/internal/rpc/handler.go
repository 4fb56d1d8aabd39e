// Package rpc is the service over gRPC, gRPC-Web, Connect and plain HTTP with JSON: all of one protobuf definition, proto/snowfence/v1.
package rpc

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// Identify returns who makes a request, from what its HTTP face found out; an error that the caller is not known.
type Identify func(ctx context.Context) (*server.Identity, error)

// rpc implements the services of the definition, one file for each.
type rpc struct {
	s   *server.Service
	who Identify
}

// Mount adds the services to a mux, each behind wrap, which makes the caller known to who.
func Mount(mux *http.ServeMux, s *server.Service, who Identify, wrap func(http.Handler) http.Handler, opts ...connect.HandlerOption) {
	r := &rpc{s, who}
	opts = append(opts, connect.WithInterceptors(errorInterceptor{s}), connect.WithReadMaxBytes(16<<20))
	add := func(path string, h http.Handler) { mux.Handle(path, wrap(h)) }
	add(snowfencev1connect.NewIDServiceHandler(ids{r}, opts...))
	add(snowfencev1connect.NewNamespaceServiceHandler(namespaces{r}, opts...))
	add(snowfencev1connect.NewLeaseServiceHandler(leases{r}, opts...))
	add(snowfencev1connect.NewStoreServiceHandler(store{r}, opts...))
}

// Names of the services, for reflection and health checks.
func Names() []string {
	return []string{
		snowfencev1connect.IDServiceName, snowfencev1connect.NamespaceServiceName,
		snowfencev1connect.LeaseServiceName, snowfencev1connect.StoreServiceName,
	}
}

// code is the table from kinds of errors to the codes of gRPC and Connect.
func code(k server.Kind) connect.Code {
	switch k {
	case server.Invalid:
		return connect.CodeInvalidArgument
	case server.NoNamespace:
		return connect.CodeNotFound
	case server.Exists:
		return connect.CodeAlreadyExists
	case server.Lost:
		return connect.CodeAborted
	case server.NoNodes, server.TooMuch, server.Exhausted:
		return connect.CodeResourceExhausted
	case server.Unavailable:
		return connect.CodeUnavailable
	case server.Refused, server.Lifetime:
		return connect.CodeFailedPrecondition
	case server.Anonymous:
		return connect.CodeUnauthenticated
	case server.Denied:
		return connect.CodePermissionDenied
	}
	return connect.CodeInternal
}

// errorInterceptor turns what the service returns into errors of the wire, with the kind as a detail that programs can compare.
type errorInterceptor struct{ s *server.Service }

func (i errorInterceptor) translate(err error) error {
	var own *connect.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	kind := i.s.Failed(server.RPC, err)
	out := connect.NewError(code(kind), err)
	if detail, detailErr := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: kind.Name(), Domain: "snowfence"}); detailErr == nil {
		out.AddDetail(detail)
	}
	return out
}

func (i errorInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		res, err := next(ctx, req)
		return res, i.translate(err)
	}
}

func (errorInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i errorInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return i.translate(next(ctx, conn))
	}
}

// may finds the caller and checks that it may do something in a namespace, whose default name is "default".
func (r *rpc) may(ctx context.Context, v server.Verb, namespace string) (string, *server.Identity, error) {
	id, err := r.who(ctx)
	if err != nil {
		return "", nil, err
	}
	if namespace == "" {
		namespace = "default"
	}
	return namespace, id, id.May(v, namespace)
}
