// Package rpc is the service over gRPC, gRPC-Web, Connect and plain HTTP with JSON: all
// of one protobuf definition, proto/snowfence/v1.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Identify returns who makes a request, from what its HTTP face found out; an error that
// the caller is not known.
type Identify func(ctx context.Context) (*server.Identity, error)

// rpc implements the services of the definition, one file for each.
type rpc struct {
	s        *server.Service
	identify Identify
	errors   *connect.ErrorWriter // of what is refused before it is read
}

// Requests and responses of the services.
type (
	request[T any]  = connect.Request[T]
	response[T any] = connect.Response[T]
)

// maxRequest bounds a message of a client: the largest is a swap of as many records as
// a remote store sends at once.
const maxRequest = 4 << 20

// Mount adds the services to a mux, each behind wrap, which makes the caller known to
// who; beside them reflection and health checks, which ask nobody who they are: what they
// tell is in the definition, or on /readyz. Calls that stream are behind streaming.
func Mount(mux *http.ServeMux, s *server.Service, who Identify, wrap, streaming func(http.Handler) http.Handler,
	opts ...connect.HandlerOption,
) {
	r := &rpc{s: s, identify: who}
	own := append(slices.Clone(opts), connect.WithInterceptors(errorInterceptor{r}),
		connect.WithReadMaxBytes(maxRequest), uncompressed())
	r.errors = connect.NewErrorWriter(own...)
	add := func(streams ...string) func(path string, h http.Handler) {
		return func(path string, h http.Handler) {
			h = wrap(r.authenticate(r.withCall(h)))
			mux.Handle(path, h)
			for _, procedure := range streams {
				mux.Handle(procedure, streaming(h))
			}
		}
	}
	add(snowfencev1connect.IDServiceStreamProcedure)(snowfencev1connect.NewIDServiceHandler(ids{r}, own...))
	add()(snowfencev1connect.NewNamespaceServiceHandler(namespaces{r}, own...))
	add(snowfencev1connect.LeaseServiceWatchProcedure)(snowfencev1connect.NewLeaseServiceHandler(leases{r}, own...))
	add()(snowfencev1connect.NewSequenceServiceHandler(sequences{r}, own...))
	add()(snowfencev1connect.NewServerServiceHandler(servers{r}, own...))

	small := connect.WithHandlerOptions(connect.WithReadMaxBytes(64<<10), uncompressed())
	reflector := grpcreflect.NewStaticReflector(append(Names(), grpchealth.HealthV1ServiceName)...)
	stream := func(path string, h http.Handler) { mux.Handle(path, streaming(h)) }
	stream(grpcreflect.NewHandlerV1(reflector, small))
	stream(grpcreflect.NewHandlerV1Alpha(reflector, small))
	stream(grpchealth.NewHandler(health{s}, small))
}

// uncompressed takes and gives nothing that is compressed. gzip costs a server 700 ns an
// ID, a hundred times what making and sending it does; and a request is unpacked before
// it is known who sends it: a megabyte can be a gigabyte then.
func uncompressed() connect.HandlerOption { return connect.WithCompression("gzip", nil, nil) }

// Names of the services, for reflection and health checks.
func Names() []string {
	return []string{
		snowfencev1connect.IDServiceName, snowfencev1connect.NamespaceServiceName,
		snowfencev1connect.LeaseServiceName, snowfencev1connect.SequenceServiceName,
		snowfencev1connect.ServerServiceName,
	}
}

// health answers health checks: of the server as a whole ("") and of each service, which
// are ready together.
type health struct{ s *server.Service }

// Check implements [grpchealth.Checker].
func (h health) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if req.Service != "" && !slices.Contains(Names(), req.Service) {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no such service"))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if h.s.Ready(ctx) != nil {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
}

// callKey is where a call keeps its [call].
type callKey struct{}

// call is what is known of a call beside its message.
type call struct {
	releases    []func() // to release when the answer has gone
	unary       bool
	certificate string // of the client
}

// authenticate refuses who is not known before a message of theirs is read.
func (r *rpc) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		_, err := r.identify(hr.Context())
		if err == nil || !r.errors.IsSupported(hr) {
			next.ServeHTTP(w, hr)
			return
		}
		// The client may be gone.
		_ = r.errors.Write(w, hr, errorInterceptor{r}.translate(hr.Context(), hr.URL.Path, hr.RemoteAddr, err))
	})
}

// withCall lets a handler hold room for its answer until a slow client has taken it, and
// counts how long calls take that have one answer.
func (r *rpc) withCall(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		began, q := time.Now(), call{}
		if hr.TLS != nil {
			q.certificate = server.CertificateName(hr.TLS.PeerCertificates)
		}
		defer func() {
			for _, release := range q.releases {
				release()
			}
			if q.unary {
				about := func() server.Request { return r.requestInfo(hr.Context(), hr.URL.Path, hr.RemoteAddr) }
				r.s.Answered(server.RPC, 1, time.Since(began), about)
			}
		}()
		next.ServeHTTP(w, hr.WithContext(context.WithValue(hr.Context(), callKey{}, &q)))
	})
}

// requestInfo is what the log says of a call.
func (r *rpc) requestInfo(ctx context.Context, procedure, from string) server.Request {
	q := server.Request{Name: server.Clip(procedure), From: from}
	if id, err := r.identify(ctx); err == nil && id != nil {
		q.Caller = id.Name
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		q.Certificate = c.certificate
	}
	return q
}

// managing are the calls of those who manage, which are logged.
var managing = []string{
	snowfencev1connect.NamespaceServiceCreateProcedure, snowfencev1connect.NamespaceServiceChangeProcedure,
	snowfencev1connect.NamespaceServiceDeleteProcedure, snowfencev1connect.SequenceServiceCreateProcedure,
	snowfencev1connect.SequenceServiceChangeProcedure, snowfencev1connect.SequenceServiceDeleteProcedure,
	snowfencev1connect.SequenceServiceConfirmProcedure, snowfencev1connect.LeaseServiceReleaseNodeProcedure,
	snowfencev1connect.LeaseServiceVetoProcedure,
}

// aboutNode is a message about one node.
type aboutNode interface {
	GetNamespace() string
	GetNode() int64
}

// namespaceOf is the namespace that a message means.
func namespaceOf(name string) string { return cmp.Or(name, lease.DefaultNamespace) }

// logManaged logs a call that only those who manage may make.
func (r *rpc) logManaged(ctx context.Context, req connect.AnyRequest, err error) {
	q := r.requestInfo(ctx, req.Spec().Procedure, req.Peer().Addr)
	if m, ok := req.Any().(interface{ GetName() string }); ok {
		q.Namespace = server.Clip(m.GetName())
	}
	if m, ok := req.Any().(aboutNode); ok {
		q.Namespace, q.Node = server.Clip(namespaceOf(m.GetNamespace())), strconv.FormatInt(m.GetNode(), 10)
	}
	if strings.HasPrefix(q.Name, "/"+snowfencev1connect.SequenceServiceName) {
		q.Namespace, q.Sequence = "", q.Namespace
	}
	r.s.Managed(server.RPC, q, err)
}

// reserve keeps room for n IDs until the answer to a request has gone.
func (r *rpc) reserve(ctx context.Context, n int64) error {
	release, err := r.s.Reserve(n)
	if err != nil {
		return err
	}
	q, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		release()
		return server.Errorf(server.Internal, "the request does not hold its answer")
	}
	q.releases = append(q.releases, release)
	return nil
}

// code is the table from kinds of errors to the codes of gRPC and Connect.
func code(k server.Kind) connect.Code {
	switch k {
	case server.Invalid:
		return connect.CodeInvalidArgument
	case server.NoNamespace, server.NoSequence:
		return connect.CodeNotFound
	case server.Exists:
		return connect.CodeAlreadyExists
	case server.Lost:
		return connect.CodeAborted
	case server.NoNodes, server.TooMuch, server.Exhausted:
		return connect.CodeResourceExhausted
	case server.Unavailable:
		return connect.CodeUnavailable
	case server.Refused, server.Lifetime, server.Ended, server.RolledBack, server.NoPeriod:
		return connect.CodeFailedPrecondition
	case server.Anonymous:
		return connect.CodeUnauthenticated
	case server.Denied:
		return connect.CodePermissionDenied
	}
	return connect.CodeInternal
}

// errorInterceptor turns what the service returns into errors of the wire, with the kind
// as a detail that programs can compare.
type errorInterceptor struct{ *rpc }

func (i errorInterceptor) translate(ctx context.Context, procedure, from string, err error) error {
	var own *connect.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	// The client has gone; a stop has a cause of its own.
	if context.Cause(ctx) == context.Canceled {
		return connect.NewError(connect.CodeCanceled, err)
	}
	kind := i.s.Failed(server.RPC, err, func() server.Request { return i.requestInfo(ctx, procedure, from) })
	out := connect.NewError(code(kind), err)
	detail, detailErr := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: kind.Name(), Domain: "snowfence"})
	if detailErr == nil {
		out.AddDetail(detail)
	}
	if kind == server.Exhausted || kind == server.Unavailable {
		after := durationpb.New(server.RetryAfter(err))
		if detail, err := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: after}); err == nil {
			out.AddDetail(detail)
		}
	}
	return out
}

func (i errorInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if q, ok := ctx.Value(callKey{}).(*call); ok {
			q.unary = true
		}
		manages := slices.Contains(managing, req.Spec().Procedure)
		if manages {
			ctx = server.WithActor(ctx, i.requestInfo(ctx, req.Spec().Procedure, req.Peer().Addr))
		}
		res, err := next(ctx, req)
		if manages {
			i.logManaged(ctx, req, err)
		}
		return res, i.translate(ctx, req.Spec().Procedure, req.Peer().Addr, err)
	}
}

func (errorInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i errorInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return i.translate(ctx, conn.Spec().Procedure, conn.Peer().Addr, next(ctx, conn))
	}
}

// authorize finds the caller and checks that it may do something in a namespace, whose default
// name is "default". The request counts as n IDs.
func (r *rpc) authorize(
	ctx context.Context, v server.Verb, namespace string, n int64,
) (string, *server.Identity, error) {
	id, err := r.identify(ctx)
	if err != nil {
		return "", nil, err
	}
	namespace = namespaceOf(namespace)
	return namespace, id, id.Authorize(v, namespace, n)
}

// authorizedSpace is may for what is made or read in a namespace.
func (r *rpc) authorizedSpace(
	ctx context.Context, v server.Verb, namespace string, n int64,
) (*server.Space, *server.Identity, error) {
	name, id, err := r.authorize(ctx, v, namespace, n)
	if err != nil {
		return nil, nil, err
	}
	sp, err := r.s.Space(ctx, name)
	return sp, id, err
}
