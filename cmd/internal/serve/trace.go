package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracing sends traces of requests over HTTP and gRPC, and of their calls to
// the store. The Redis protocol carries no context of traces, and its commands
// take less time than the record of one.
type tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	context  propagation.TextMapPropagator
}

// startTracing makes an exporter, which reads where to send traces to, and what
// of them, from the environment (OTEL_EXPORTER_OTLP_…, OTEL_TRACES_SAMPLER).
func startTracing(ctx context.Context, version string, logger *slog.Logger) (*tracing, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	name, number := attribute.String("service.name", "snowfence"), attribute.String("service.version", version)
	about, err := resource.New(ctx, resource.WithAttributes(name, number), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		logger.Warn("tracing: some attributes of this process are unknown", "cause", err)
	}
	sent := sdk.WithBatcher(&logged{SpanExporter: exporter, logger: logger})
	return newTracing(sdk.NewTracerProvider(sent, sdk.WithResource(about))), nil
}

// logged sends traces, and says in the log that it cannot. The library would
// write its own lines.
type logged struct {
	sdk.SpanExporter
	logger  *slog.Logger
	failing bool // the last time; the library sends one batch at a time
}

// ExportSpans implements [sdk.SpanExporter].
func (l *logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := l.SpanExporter.ExportSpans(ctx, spans)
	if err != nil && !l.failing {
		l.logger.Warn("traces cannot be sent, and are lost until they can", "cause", err)
	}
	l.failing = err != nil
	return nil
}

func newTracing(p *sdk.TracerProvider) *tracing {
	return &tracing{p, p.Tracer("github.com/snowfence/snowfence"), propagation.TraceContext{}}
}

// sendRest sends the rest.
func (t *tracing) sendRest(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("tracing: the last traces were not sent: %w", err)
	}
	return nil
}

// traceRoutes traces the paths below /v1, by their pattern: paths have IDs in
// them.
func (t *tracing) traceRoutes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if len(r.URL.Path) < 3 || r.URL.Path[:3] != "/v1" {
			mux.ServeHTTP(w, r)
			return
		}
		ctx := t.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method, route := attribute.String("http.request.method", r.Method), attribute.String("http.route", pattern)
		ctx, span := t.tracer.Start(ctx, pattern, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(method, route))
		defer span.End()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		mux.ServeHTTP(seen, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", seen.status))
		if seen.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(seen.status))
		}
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *statusWriter) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets an [http.ResponseController] find the writer below.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// roundTrip makes a span of a round trip to the store. Many callers of a
// store.Group share one: the span is a root of its own then.
func (t *tracing) roundTrip(ctx context.Context, o server.Op, records int) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, "store "+o.Name(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.Int("snowfence.records", records)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "") // its text may name hosts and users, and is in the log
		}
		span.End()
	}
}
