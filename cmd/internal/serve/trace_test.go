package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Traces of requests and of the store reach a collector, continue the traces of
// callers, and name patterns instead of paths.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	spans := map[string]string{} // trace IDs by name
	said := map[string]string{}  // attributes and status by name
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &req) != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range req.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					spans[s.Name] += string(s.TraceId)
					said[s.Name] += fmt.Sprint(s.Attributes, s.Status)
				}
			}
		}
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	p, _ := start(t, Config{Tracing: true}, newStore(t))
	const caller = "0af7651916cd43dd8448eb211c80319c"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.HTTP+"/v1/default/decode/5", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	ids := snowfencev1connect.NewIDServiceClient(http.DefaultClient, "http://"+p.HTTP)
	if _, err := ids.Next(t.Context(), connect.NewRequest(&pb.NextRequest{})); err != nil {
		t.Fatal(err)
	}
	refused := connect.NewRequest(&pb.NextRequest{Namespace: "nothing"})
	refused.Header().Set("traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	if _, err := ids.Next(t.Context(), refused); connect.CodeOf(err) != connect.CodeNotFound {
		t.Fatal(err)
	}
	eventually(t, "all spans", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return spans["GET /v1/{namespace}/decode/{id}"] != "" && len(spans["snowfence.v1.IDService/Next"]) == 32 &&
			spans["store get"] != "" && spans["store swap"] != ""
	})
	mu.Lock()
	defer mu.Unlock()
	if id := spans["GET /v1/{namespace}/decode/{id}"]; !strings.Contains(id, "\x0a\xf7\x65\x19\x16\xcd") {
		t.Errorf("the caller's trace ends at the server: %x", id)
	}
	const call = "snowfence.v1.IDService/Next"
	if !strings.Contains(spans[call], "\x0a\xf7\x65\x19\x16\xcd") {
		t.Errorf("the caller's trace ends at gRPC: %x", spans[call])
	}
	for _, want := range []string{`"connectrpc"`, `"rpc.method"`, `"OK"`, `"NOT_FOUND"`, `"error.type"`} {
		if !strings.Contains(said[call], want) {
			t.Errorf("no %s in %s", want, said[call])
		}
	}
}
