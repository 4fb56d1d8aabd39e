package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// rpcSpans makes a span of each call over gRPC and Connect, with the attributes
// that the semantic conventions of OpenTelemetry name. The package otelconnect
// also measures, which /metrics does here.
type rpcSpans struct{ *tracing }

// WrapUnary implements [connect.Interceptor].
func (s rpcSpans) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, end := s.begin(ctx, req.Spec(), req.Peer(), req.Header())
		res, err := next(ctx, req)
		end(err)
		return res, err
	}
}

// WrapStreamingHandler implements [connect.Interceptor].
func (s rpcSpans) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, end := s.begin(ctx, conn.Spec(), conn.Peer(), conn.RequestHeader())
		err := next(ctx, conn)
		end(err)
		return err
	}
}

// WrapStreamingClient implements [connect.Interceptor]: a server makes no
// calls.
func (s rpcSpans) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (s rpcSpans) begin(
	ctx context.Context, spec connect.Spec, peer connect.Peer, sent http.Header,
) (context.Context, func(error)) {
	ctx = s.context.Extract(ctx, propagation.HeaderCarrier(sent))
	system := "connectrpc"
	if peer.Protocol != connect.ProtocolConnect {
		system = "grpc" // gRPC-Web, too
	}
	method := strings.TrimPrefix(spec.Procedure, "/")
	ctx, span := s.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("rpc.system.name", system), attribute.String("rpc.method", method)))
	return ctx, func(err error) {
		defer span.End()
		if err == nil {
			span.SetAttributes(attribute.String("rpc.response.status_code", "OK"))
			return
		}
		code := strings.ToUpper(connect.CodeOf(err).String())
		span.SetAttributes(attribute.String("rpc.response.status_code", code), attribute.String("error.type", code))
		switch connect.CodeOf(err) {
		case connect.CodeUnknown, connect.CodeDeadlineExceeded, connect.CodeUnimplemented, connect.CodeInternal,
			connect.CodeUnavailable, connect.CodeDataLoss:
			span.SetStatus(codes.Error, messageOf(err))
		}
	}
}

// messageOf returns the client's text of an error.
func messageOf(err error) string {
	if told, ok := errors.AsType[*connect.Error](err); ok {
		return told.Message()
	}
	return err.Error()
}
