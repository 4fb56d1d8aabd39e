// Package rpc is the service over gRPC, gRPC-Web, Connect and plain HTTP
// with JSON: all of one protobuf definition, proto/snowfence/v1.
package rpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Bounds of a message of a client: the largest is a batch of renewals.
const (
	maxRequest = 4 << 20
	maxParts   = 10_000 // messages in it: an empty one has two bytes, and takes a hundred
	decoded    = 16     // times its bytes is the room that it takes
)

// Mount adds the services to a mux; beside them reflection and health
// checks, which need no token: their facts are in the definition, or on
// /readyz. Calls that stream are behind streaming.
func Mount(mux *http.ServeMux, s *server.Service, who server.Identify, streaming func(http.Handler) http.Handler) {
	r := &rpc{s: s, who: who}
	own := []connect.HandlerOption{
		connect.WithInterceptors(errorInterceptor{r}), connect.WithReadMaxBytes(maxRequest), uncompressed(),
		connect.WithCodec(codec{"proto"}), connect.WithCodec(codec{"json"}),
		connect.WithCodec(codec{"json; charset=utf-8"}),
	}
	r.errors = connect.NewErrorWriter(own...)
	for _, m := range Methods(s) {
		mux.Handle(m.Procedure, r.authenticate(r.withCall(m.handler(own...))))
	}
	stream := func(procedure string, h http.Handler) {
		mux.Handle(procedure, streaming(r.authenticate(r.withCall(h))))
	}
	next, watch := snowfencev1connect.IDServiceStreamProcedure, snowfencev1connect.LeaseServiceWatchProcedure
	stream(next, connect.NewServerStreamHandlerSimple(next, ids{r}.Stream, own...))
	stream(watch, connect.NewServerStreamHandlerSimple(watch, leases{r}.Watch, own...))

	small := connect.WithHandlerOptions(connect.WithReadMaxBytes(4<<10), uncompressed())
	reflector := grpcreflect.NewStaticReflector(append(Names(), grpchealth.HealthV1ServiceName)...)
	open := func(path string, h http.Handler) { mux.Handle(path, streaming(h)) }
	reflect := func(path string, h http.Handler) { open(path, r.withStreamRoom(h)) }
	reflect(grpcreflect.NewHandlerV1(reflector, small))
	reflect(grpcreflect.NewHandlerV1Alpha(reflector, small))
	open(grpchealth.NewHandler(health{s}, small))
}

// withStreamRoom reserves room for reflection. It describes all files of
// the program, also of libraries: the largest has 45 kB.
func (r *rpc) withStreamRoom(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		c, _ := r.who.Caller(hr) // anybody may ask
		defer r.s.Ended(c)
		if err := r.s.Reserve(c, server.StreamRoom); err != nil {
			_ = r.errors.Write(w, hr, errorInterceptor{r}.translate(hr.Context(), hr.URL.Path, err))
			return
		}
		next.ServeHTTP(w, hr)
	})
}

// uncompressed turns compression off. gzip costs a server 700 ns an ID, a
// hundred times as much as to make and send it. A request would also be
// unpacked before its sender is known, and a megabyte can become a
// gigabyte.
func uncompressed() connect.HandlerOption { return connect.WithCompression("gzip", nil, nil) }

// Names of the services, for reflection and health checks.
func Names() []string {
	return []string{
		snowfencev1connect.IDServiceName, snowfencev1connect.NamespaceServiceName,
		snowfencev1connect.LeaseServiceName, snowfencev1connect.SequenceServiceName,
		snowfencev1connect.ServerServiceName,
	}
}

// health answers health checks: of the server as a whole ("") and of each
// service, which are ready together.
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

// authenticate refuses an unknown caller before its message is read.
func (r *rpc) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		c, err := r.who.Caller(hr)
		ctx := server.WithCaller(hr.Context(), c)
		if err == nil || !r.errors.IsSupported(hr) {
			next.ServeHTTP(w, hr.WithContext(ctx))
			return
		}
		// The client may be gone.
		_ = r.errors.Write(w, hr, errorInterceptor{r}.translate(ctx, hr.URL.Path, err))
	})
}

// withCall lets a handler hold room for its answer until a slow client has
// taken it. It also counts the durations of calls with one answer.
func (r *rpc) withCall(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		began, q := time.Now(), call{text: !strings.Contains(hr.Header.Get("Content-Type"), "proto")}
		if strings.HasPrefix(hr.Header.Get("Content-Type"), "application/grpc") {
			q.text = strings.HasSuffix(hr.Header.Get("Content-Type"), "json")
		}
		defer func() {
			r.s.Ended(server.CallerOf(hr.Context()))
			if q.unary {
				about := func() server.Request { return server.CallerOf(hr.Context()).Request(hr.URL.Path) }
				r.s.Answered(server.RPC, 1, time.Since(began), about)
			}
		}()
		free := len(q.body.small) // in the request's own room; gRPC does not tell how many come
		q.body.receive(hr.Body, func(n int) (err error) {
			if free -= n; free < 0 {
				more := max(-free, 4<<10)
				free += more
				err = r.s.Reserve(server.CallerOf(hr.Context()), int64(more)*decoded)
			}
			return errorInterceptor{r}.translate(hr.Context(), hr.URL.Path, err)
		})
		hr.Body = &q.body
		next.ServeHTTP(w, hr.WithContext(context.WithValue(hr.Context(), callKey{}, &q)))
	})
}

// body is a request that has come. Buffers of connect may have megabytes,
// and a slow client would hold one.
type body struct {
	small [512]byte // most requests fit into it
	data  bytes.Reader
	err   error // after the data
	io.Closer
}

// receive reads a request, up to a byte more than is allowed. It takes room
// for the bytes as they come.
func (b *body) receive(r io.ReadCloser, take func(n int) error) {
	data := b.small[:0]
	for b.err == nil && len(data) <= maxRequest {
		data = slices.Grow(data, 1)
		n, err := r.Read(data[len(data):cap(data)])
		data, b.err = data[:len(data)+n], cmp.Or(take(n), err)
	}
	b.data.Reset(data)
	b.err, b.Closer = cmp.Or(b.err, io.EOF), r
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.data.Read(p)
	if err != nil {
		err = b.err
	}
	return n, err
}

// errorInterceptor turns errors of the service into errors of the wire,
// with the kind as a detail that programs can compare.
type errorInterceptor struct{ *rpc }

func (i errorInterceptor) translate(ctx context.Context, procedure string, err error) error {
	var own *connect.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	// The client has gone; a stop has a cause of its own.
	if context.Cause(ctx) == context.Canceled {
		return connect.NewError(connect.CodeCanceled, err)
	}
	kind := i.s.Failed(server.RPC, err, func() server.Request { return server.CallerOf(ctx).Request(procedure) })
	out := connect.NewError(kind.Code(), err)
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
		res, err := next(ctx, req)
		return res, i.translate(ctx, req.Spec().Procedure, err)
	}
}

func (errorInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (i errorInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return i.translate(ctx, conn.Spec().Procedure, next(ctx, conn))
	}
}

// codec writes messages as protobuf, or as JSON with the names of the
// protocol, as all other wires do. It passes over the fields that it does
// not know, so that clients may be newer.
type codec struct{ name string }

// Name implements [connect.Codec].
func (c codec) Name() string { return c.name }

// Marshal implements [connect.Codec].
func (c codec) Marshal(m any) ([]byte, error) { return c.MarshalAppend(nil, m) }

// MarshalAppend lets connect use its buffers again, but no large one for a
// small answer that a slow client holds.
func (c codec) MarshalAppend(b []byte, m any) ([]byte, error) {
	if cap(b) > server.RequestRoom {
		b = nil
	}
	if c.name == "proto" {
		return proto.MarshalOptions{}.MarshalAppend(b, m.(proto.Message))
	}
	return protojson.MarshalOptions{UseProtoNames: true}.MarshalAppend(b, m.(proto.Message))
}

// Unmarshal implements [connect.Codec].
func (c codec) Unmarshal(b []byte, m any) error {
	parts, read := bytes.Count(b, []byte("{")), protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal
	if c.name == "proto" {
		parts, read = 0, proto.Unmarshal
		for rest, size := b, 0; len(rest) > 0 && size >= 0; parts++ {
			_, _, size = protowire.ConsumeField(rest)
			rest = rest[max(size, 0):]
		}
	}
	if parts > maxParts {
		return fmt.Errorf("it has %d parts: send %d at most", parts, maxParts)
	}
	return read(b, m.(proto.Message))
}
