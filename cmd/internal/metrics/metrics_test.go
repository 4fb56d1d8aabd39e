package metrics_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"

	"connectrpc.com/connect"
)

// patience is how long a test waits for what should happen in a moment.
const patience = 2 * time.Minute

func scrape(t *testing.T, base string) string {
	t.Helper()
	res := must(http.Get(base + "/metrics"))
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))
	return string(text)
}

// Each request is counted once with its time, also in a pipeline, on the
// wire it came over; streams are not, because they take as long as a client
// wants.
func TestRequestsAreTimed(t *testing.T) {
	st := store.NewMemory()
	scheme := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	limits := &scope.NamespaceOptions{MaxTTL: time.Minute}
	must(scope.Namespaces(st).Create(t.Context(), "default", scheme, limits))
	p := must(serve.Start(t.Context(), serve.Config{
		Listeners: serve.Listeners{HTTP: "127.0.0.1:0", RESP: "127.0.0.1:0"}, Options: server.Options{TTL: time.Minute},
	}, st))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		tests.NoError(t, p.Stop(ctx))
	})
	base := "http://" + p.HTTP
	for _, path := range []string{
		"/v1/default/next", "/v1/default/next?n=1000", "/v1/nothing/next",
		"/v1/default/stream", "/dashboard/", "/healthz",
	} {
		res := must(http.Get(base + path))
		if _, err := io.CopyN(io.Discard, res.Body, 10); err != nil && err != io.EOF {
			t.Error(err)
		}
		res.Body.Close()
	}
	ids := snowfencev1connect.NewIDServiceClient(http.DefaultClient, base)
	for range 2 {
		must(ids.Next(t.Context(), connect.NewRequest(&pb.NextRequest{})))
	}
	stream := must(ids.Stream(t.Context(), connect.NewRequest(&pb.StreamRequest{Count: 10})))
	for stream.Receive() {
	}
	tests.NoError(t, stream.Err())
	c := must(net.Dial("tcp", p.RESP))
	defer c.Close()
	must(c.Write([]byte(strings.Repeat("SNOWFENCE.NEXT default\r\n", 100) + "NONSENSE\r\n")))
	for in := bufio.NewScanner(c); in.Scan() && !strings.HasPrefix(in.Text(), "-ERR"); {
	}
	want := map[string]int{"http": 3, "rpc": 2, "resp": 101}
	var text string
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // a request is counted after its answer
		text = scrape(t, base)
		all := true
		for wire, n := range want {
			all = all && strings.Contains(text, fmt.Sprintf("snowfence_request_seconds_count{wire=%q} %d\n", wire, n))
		}
		if all {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not the %v that were made:\n%s", want, text)
		}
	}
	if strings.Contains(text, "snowfence_request_seconds_sum{wire=\"resp\"} 0\n") ||
		!strings.Contains(text, `snowfence_request_seconds_bucket{wire="resp",le="+Inf"} 101`) {
		t.Errorf("counted without their time:\n%s", text)
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
