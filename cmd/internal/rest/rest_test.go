package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
)

// face is the paths over a memory store.
type face struct {
	testing.TB
	mux     *http.ServeMux
	service *server.Service
	who     *server.Identity
}

func start(t testing.TB) *face {
	t.Helper()
	st := lease.NewMemory()
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(context.Background(), st, "default", s, nil); err != nil {
		t.Fatal(err)
	}
	f := &face{TB: t, mux: http.NewServeMux(), service: server.New(st, server.Options{}), who: server.Open().Anyone()}
	Mount(f.mux, f.service, func(*http.Request) (*server.Identity, error) {
		if f.who == nil {
			return nil, server.NewError(server.Anonymous, fmt.Errorf("a token is needed"))
		}
		return f.who, nil
	}, func(h http.Handler) http.Handler { return h })
	t.Cleanup(func() {
		if err := f.service.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *face) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	f.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, r)
	return w
}

// Every path, every status that a caller can bring about, and the schema of each answer.
func TestPaths(t *testing.T) {
	f := start(t)
	doc := document(t)
	reached := map[string]bool{}
	const seq, node = "/v1/{name}/sequence", "/v1/{namespace}/leases/{node}"
	for _, c := range []struct {
		route, method, target, body string
		code                        int
		kind                        string // of a problem
	}{
		{"/v1", "GET", "/v1", "", 200, ""},
		{"/v1/{namespace}", "GET", "/v1/default", "", 200, ""},
		{"/v1/{namespace}", "GET", "/v1/nowhere", "", 404, "no-namespace"},
		{"/v1/{namespace}", "GET", "/v1/a%20b", "", 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{"layout":"twitter","last_node":100}`, 201, ""},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{"layout":"twitter","last_node":100}`, 200, ""},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{}`, 200, ""},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{"layout":"sonyflake"}`, 409, "exists"},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{"layout":"twitter","last_node":99}`, 409, "exists"},
		{"/v1/{namespace}", "PUT", "/v1/x", `{"layout":"nonsense"}`, 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/x", `{"layout":"randflake"}`, 422, "refused"},
		{"/v1/{namespace}", "PUT", "/v1/x", `{"unknown":1}`, 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/x", `{} {}`, 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/x", "", 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/x", `{"layout":"` + strings.Repeat("x", 70_000) + `"}`, 413, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"layout":"twitter","last_node":200}`, 422, "refused"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"layout":"twitter","last_node":200,"widen":true}`, 200, ""},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{}`, 400, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"widen":true}`, 400, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"nodes":5}`, 400, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"last_node":-1}`, 400, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"last_node":100}`, 200, ""},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"last_node":1023}`, 422, "refused"},
		{"/v1/{namespace}", "PATCH", "/v1/orders", `{"last_node":200,"widen":true,"unused":"2020-01-01T00:00:00Z"}`, 200, ""},
		{"/v1/{namespace}", "PATCH", "/v1/nowhere", `{"layout":"twitter"}`, 404, "no-namespace"},
		{"/v1/{namespace}", "DELETE", "/v1/orders", "", 422, "refused"},
		{"/v1/{namespace}", "DELETE", "/v1/orders?confirm=orders", "", 204, ""},
		{"/v1/{namespace}", "PUT", "/v1/orders", `{"layout":"twitter"}`, 201, ""},
		{"/v1/{namespace}", "DELETE", "/v1/orders?confirm=orders", "", 204, ""},
		{"/v1/{namespace}/next", "GET", "/v1/default/next", "", 200, ""},
		{"/v1/{namespace}/next", "POST", "/v1/default/next?n=5000", "", 200, ""},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=10&runs=true", "", 200, ""},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=0", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=1000001", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=x", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?count=5", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=2&n=3", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=2;x", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?runs=yes", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/orders/next", "", 404, "no-namespace"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/2104672976770170879", "", 200, ""},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/x", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/-1", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/ord_2104672976770170879", "", 200, ""},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/ord_2104672976770170879?prefix=ord", "", 200, ""},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/usr_2104672976770170879?prefix=ord", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/2104672976770170879?prefix=ord", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/ord_afvLx21TMZ?format=base58", "", 200, ""},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/afvLx21TMZ", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/5?format=base5", "", 400, "invalid"},
		{"/v1/{namespace}/decode/{id}", "GET", "/v1/default/decode/5?from=dec", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?format=base58&prefix=ord", "", 200, ""},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=3000&format=hex-fixed", "", 200, ""},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?format=base5", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?prefix=Ord", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?n=2&runs=true&prefix=ord", "", 400, "invalid"},
		{"/v1", "GET", "/v1?all=true", "", 400, "invalid"},
		{"/v1/{namespace}", "GET", "/v1/default?all=true", "", 400, "invalid"},
		{"/v1/{namespace}", "PUT", "/v1/x?layout=twitter", "{}", 400, "invalid"},
		{"/v1/{namespace}", "PATCH", "/v1/default?layout=twitter", "{}", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/default/range?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "", 200, ""},
		{"/v1/{namespace}/range", "GET", "/v1/default/range", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/default/range?from=2&to=1", "", 400, "invalid"},
		{"/v1/{namespace}/leases", "GET", "/v1/default/leases?held=true&limit=2", "", 200, ""},
		{"/v1/{namespace}/leases", "GET", "/v1/default/leases?after=9223372036854775807", "", 200, ""},
		{"/v1/{namespace}/leases", "GET", "/v1/default/leases?after=x", "", 400, "invalid"},
		{"/v1/{namespace}/leases", "GET", "/v1/nowhere/leases", "", 404, "no-namespace"},
		{node, "DELETE", "/v1/default/leases/1000", "", 422, "refused"},
		{node, "DELETE", "/v1/default/leases/1024", "", 400, "invalid"},
		{node, "DELETE", "/v1/default/leases/-1", "", 400, "invalid"},
		{node, "DELETE", "/v1/default/leases/x", "", 400, "invalid"},
		{node, "DELETE", "/v1/default/leases/1000?force=true", "", 400, "invalid"},
		{node, "DELETE", "/v1/nowhere/leases/1000", "", 404, "no-namespace"},
		{node, "DELETE", "/v1/a%20b/leases/1000", "", 400, "invalid"},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"reason":"old"}`, 200, ""},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"reason":"old"}`, 200, ""},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"reason":""}`, 400, "invalid"},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{}`, 400, "invalid"},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", "", 400, "invalid"},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"veto":"old"}`, 400, "invalid"},
		{node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"reason":"\u001b[2J"}`, 400, "invalid"},
		{
			node + "/veto", "PUT", "/v1/default/leases/1000/veto", `{"reason":"` + strings.Repeat("x", 1001) + `"}`, 400,
			"invalid",
		},
		{node + "/veto", "PUT", "/v1/default/leases/1024/veto", `{"reason":"old"}`, 400, "invalid"},
		{node + "/veto", "PUT", "/v1/nowhere/leases/5/veto", `{"reason":"old"}`, 404, "no-namespace"},
		{node, "DELETE", "/v1/default/leases/1000", "", 200, ""},
		{node + "/veto", "DELETE", "/v1/default/leases/1000/veto", "", 200, ""},
		{node + "/veto", "DELETE", "/v1/default/leases/1000/veto", "", 200, ""},
		{node + "/veto", "DELETE", "/v1/default/leases/1001/veto", "", 422, "refused"},
		{node + "/veto", "DELETE", "/v1/default/leases/1024/veto", "", 400, "invalid"},
		{"/v1", "GET", "/v1?list=sequences", "", 200, ""},
		{"/v1", "GET", "/v1?list=servers", "", 200, ""},
		{"/v1", "GET", "/v1?list=leases", "", 400, "invalid"},
		{seq, "GET", "/v1/tickets/sequence", "", 404, "no-sequence"},
		{seq, "GET", "/v1/a%20b/sequence", "", 400, "invalid"},
		{seq, "GET", "/v1/%23tickets/sequence", "", 400, "invalid"},
		{seq, "GET", "/v1/day.20261122/sequence", "", 400, "invalid"},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":"1000","max":1999,"max_range":100}`, 201, ""},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":1000,"max":"1999","max_range":"100"}`, 200, ""},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":1000}`, 200, ""},
		{seq, "PUT", "/v1/tickets/sequence", `{}`, 409, "exists"},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":1000,"mode":"strict"}`, 409, "exists"},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":1000,"after_failover":"trust"}`, 409, "exists"},
		{seq, "PUT", "/v1/x/sequence", `{"mode":"slow"}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", `{"step":0}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", `{"start":1.5}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", `{"start":"9223372036854775808"}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", `{"after_failover":"0"}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", `{"unknown":1}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence?mode=fast", `{}`, 400, "invalid"},
		{seq, "PUT", "/v1/x/sequence", "", 400, "invalid"},
		{seq, "GET", "/v1/tickets/sequence", "", 200, ""},
		{seq, "GET", "/v1/tickets/sequence?all=true", "", 400, "invalid"},
		{seq + "/next", "GET", "/v1/tickets/sequence/next", "", 200, ""},
		{seq + "/next", "POST", "/v1/tickets/sequence/next?n=10&runs=true", "", 200, ""},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?n=0", "", 400, "invalid"},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?n=1000001", "", 400, "invalid"},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?n=x", "", 400, "invalid"},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?count=1", "", 400, "invalid"},
		{seq + "/next", "GET", "/v1/nowhere/sequence/next", "", 404, "no-sequence"},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?n=5000", "", 422, "ended"},
		{seq, "PATCH", "/v1/tickets/sequence", `{"max":"9999"}`, 200, ""},
		{seq + "/next", "GET", "/v1/tickets/sequence/next?n=5000", "", 200, ""},
		{seq, "PATCH", "/v1/tickets/sequence", `{"max":1010}`, 422, "refused"},
		{seq, "PATCH", "/v1/tickets/sequence", `{}`, 400, "invalid"},
		{seq, "PATCH", "/v1/tickets/sequence", `{"start":5}`, 400, "invalid"},
		{seq, "PATCH", "/v1/tickets/sequence", `{"min_range":10,"max_range":100,"after_failover":"50"}`, 200, ""},
		{seq, "PATCH", "/v1/nowhere/sequence", `{"max":5}`, 404, "no-sequence"},
		{seq + "/confirm", "POST", "/v1/tickets/sequence/confirm", `{"floor":"7000"}`, 200, ""},
		{seq + "/confirm", "POST", "/v1/tickets/sequence/confirm", `{"used":7000,"programs":1}`, 200, ""},
		{seq + "/confirm", "POST", "/v1/tickets/sequence/confirm", `{}`, 400, "invalid"},
		{seq + "/confirm", "POST", "/v1/nowhere/sequence/confirm", `{"floor":1}`, 404, "no-sequence"},
		{"/v1", "GET", "/v1?list=sequences", "", 200, ""},
		{seq, "DELETE", "/v1/tickets/sequence", "", 422, "refused"},
		{seq, "DELETE", "/v1/tickets/sequence?confirm=tickets", "", 204, ""},
		{seq, "DELETE", "/v1/tickets/sequence?confirm=tickets", "", 204, ""},
		{seq, "DELETE", "/v1/nowhere/sequence?confirm=nowhere", "", 404, "no-sequence"},
		{seq, "GET", "/v1/tickets/sequence", "", 200, ""},
		{seq + "/next", "GET", "/v1/tickets/sequence/next", "", 404, "no-sequence"},
		{seq, "PATCH", "/v1/tickets/sequence", `{"max":10000}`, 404, "no-sequence"},
		{seq, "PUT", "/v1/tickets/sequence", `{"start":1000}`, 201, ""},
		{seq + "/next", "GET", "/v1/tickets/sequence/next", "", 200, ""},
		{seq, "PUT", "/v1/back/sequence", `{"start":-5,"step":"-3","mode":"strict"}`, 201, ""},
		{seq + "/next", "GET", "/v1/back/sequence/next?n=2&runs=true", "", 200, ""},
		{"", "POST", "/v1/tickets/sequence", "", 405, "invalid"},
		{"", "GET", "/v1/tickets/sequence/confirm", "", 405, "invalid"},
		{"", "GET", "/v1/default/nonsense", "", 404, "invalid"},
		{"", "POST", "/v1/default", "", 405, "invalid"},
		{"", "OPTIONS", "/v1/default", "", 204, ""},
	} {
		w := f.do(c.method, c.target, c.body)
		what := c.method + " " + c.target[:min(len(c.target), 60)]
		if w.Code != c.code {
			t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, c.code)
			continue
		}
		reached[strings.ToLower(c.method)+" "+c.route] = true
		if c.kind != "" {
			var p problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Kind != c.kind || p.Status != c.code ||
				w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %v %s", what, err, w.Body)
			}
			doc.matches(t, what, w.Body.Bytes(), map[string]any{"$ref": "#/components/schemas/Problem"})
		} else if c.code < 204 {
			doc.answers(t, what, c.route, strings.ToLower(c.method), w)
		}
	}
	if allow := f.do("OPTIONS", "/v1/default",
		"").Header().Get("Allow"); allow != "GET, HEAD, PUT, PATCH, DELETE, OPTIONS" {
		t.Errorf("Allow: %s", allow)
	}
	reached["get /v1/{namespace}/stream"] = true // see TestStream

	// The document and the routes are the same.
	var routes, documented []string
	all := (&rest{}).routes()
	maps.Copy(all, (&rest{}).streams())
	for pattern := range all {
		method, path, _ := strings.Cut(pattern, " ")
		routes = append(routes, strings.ToLower(method)+" "+path)
	}
	for path, methods := range doc.at("paths").(map[string]any) {
		for method := range methods.(map[string]any) {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if !slices.Equal(routes, documented) {
		t.Errorf("routes %q\ndocument %q", routes, documented)
	}
	for _, r := range routes {
		if !reached[r] {
			t.Errorf("%s is not tested", r)
		}
	}
}

func TestStatuses(t *testing.T) {
	for k := server.Internal; k <= server.NoPeriod; k++ {
		w := httptest.NewRecorder()
		Problem(w, server.NewError(k, fmt.Errorf("why")))
		if (w.Code == 500) != (k == server.Internal) || w.Code < 400 {
			t.Errorf("%s: %d", k.Name(), w.Code)
		}
		document(t).matches(t, k.Name(), w.Body.Bytes(), map[string]any{"$ref": "#/components/schemas/Problem"})
		if (w.Code == 503 || w.Code == 429) != (w.Header().Get("Retry-After") != "") ||
			(w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %v", k.Name(), w.Header())
		}
	}
	f := start(t)
	f.who = nil
	if w := f.do("GET", "/v1/default/next", ""); w.Code != 401 {
		t.Errorf("nobody: %d", w.Code)
	}
}

func TestAccept(t *testing.T) {
	f := start(t)
	for accept, text := range map[string]bool{
		"": false, "*/*": false, "text/plain": true, "application/json": false, "text/*": true, "application/*": false, "TEXT/Plain": true,
		"text/plain, application/json": false, "text/plain, application/json;q=0.9": true, "text/plain;q=0.5, application/json;q=0.9": false,
		"text/plain;q=0, */*": false, "application/json;q=0, */*": true, "text/html, */*;q=0.1": false, "text/plain;q=x": true, ",;": false,
		"text/plain;charset=utf-8;q=0.3, application/json;q=0.2": true,
	} {
		w := f.do("GET", "/v1/default/next?n=3", "", "Accept", accept)
		if got := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); got != text ||
			w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %v", accept, w.Header())
		}
		if text && !regexp.MustCompile(`^(\d+\n){3}$`).MatchString(w.Body.String()) {
			t.Errorf("%q: %q", accept, w.Body)
		}
	}
}

// HEAD makes no IDs.
func TestHead(t *testing.T) {
	f := start(t)
	for _, path := range []string{"next", "next?n=100", "next?n=5&runs=true", "stream"} {
		if w := f.do("HEAD", "/v1/default/"+path, ""); w.Code != 200 || w.Body.Len() > 0 ||
			w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	sp, err := f.service.Space(t.Context(), "default")
	if err != nil || sp.Made.Load() != 0 {
		t.Errorf("%d IDs were made, %v", sp.Made.Load(), err)
	}
}

// A large answer is all there, in order, whatever pieces it was written in.
func TestLargeBatch(t *testing.T) {
	f := start(t)
	for _, n := range []int{1, 2, chunk, chunk + 1, 3*chunk - 1, 100_000} {
		var v struct{ IDs []string }
		w := f.do("GET", "/v1/default/next?n="+strconv.Itoa(n), "")
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || len(v.IDs) != n {
			t.Fatalf("%d: %d IDs, %v", n, len(v.IDs), err)
		}
		for i, text := range v.IDs[1:] {
			if len(text) != 19 || text <= v.IDs[i] {
				t.Fatalf("%s after %s", text, v.IDs[i])
			}
		}
		res := f.do("GET", "/v1/default/next?n="+strconv.Itoa(n), "", "Accept", "text/plain")
		if lines := strings.Count(res.Body.String(), "\n"); lines != n {
			t.Errorf("%d lines of %d", lines, n)
		}
	}
}

// A stream goes on until the client has enough; then nothing is held for it.
func TestStream(t *testing.T) {
	f := start(t)
	s := httptest.NewServer(f.mux)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/default/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	last := ""
	for n := 0; n < 10_000 && lines.Scan(); n++ {
		if lines.Text() <= last || len(lines.Text()) != 19 {
			t.Fatalf("%q after %q", lines.Text(), last)
		}
		last = lines.Text()
	}
	res.Body.Close()
	cancel()
	s.Close() // waits for the handler
	if release, err := f.service.Reserve(32 * server.MaxBatch); err != nil {
		t.Error(err)
	} else {
		release()
	}
}

// Every request counts for the rate of its token, also one that fails.
func TestRateOfAllRequests(t *testing.T) {
	f := start(t)
	for _, path := range []string{
		"/v1/default/next", "/v1/missing/next", "/v1/default/decode/1",
		"/v1/default/range?from=1&to=2", "/v1/default/leases", "/v1/default", "/v1", "/v1?list=sequences",
		"/v1/orders/sequence", "/v1/orders/sequence/next", "/v1/orders/sequence/next?n=x",
	} {
		a, err := server.NewAuth([]server.Token{{Name: "t", SHA256: sumOfSecret, Rate: 1e-9, Burst: 2}})
		if err != nil {
			t.Fatal(err)
		}
		f.who, _ = a.Identify("secret")
		for i := range 3 {
			if code := f.do("GET", path, "").Code; (code == 429) != (i == 2) {
				t.Errorf("%s, request %d of 2: %d", path, i+1, code)
			}
		}
	}
}

const sumOfSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // the SHA-256 of "secret"

// A stream ends when its token loses the right to it.
func TestStreamOfALostRight(t *testing.T) {
	tokens := func(verbs ...server.Verb) *server.Auth {
		a, err := server.NewAuth([]server.Token{{Name: "t", SHA256: sumOfSecret, Verbs: verbs}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	f := start(t)
	before := tokens(server.VerbIDs, server.VerbRead)
	f.who, _ = before.Identify("secret")
	s := httptest.NewServer(f.mux)
	defer s.Close()
	res, err := http.Get(s.URL + "/v1/default/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	tokens(server.VerbRead).Replace(before)
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the stream came to a good end")
	}
}

// FuzzPaths: no request makes a handler panic, or answer what is no status.
func FuzzPaths(f *testing.F) {
	fa := start(f)
	for _, s := range []string{
		"/v1", "/v1/default/next?n=2", "/v1/default/decode/1",
		"/v1/default/range?from=1&to=2", "/v1/default/leases?after=5", "/v1//", "/v1/%00/next",
	} {
		f.Add(uint8(0), s, "text/plain;q=0.5", "")
	}
	f.Add(uint8(1), "/v1/x", "", `{"layout":"twitter"}`)
	f.Add(uint8(1), "/v1/x/sequence", "", `{"start":"5","max":9,"after_failover":"trust"}`)
	f.Add(uint8(4), "/v1/x/sequence/confirm", "", `{"floor":"7"}`)
	f.Add(uint8(0), "/v1/x/sequence/next?n=2&period=2026&runs=1", "", "")
	methods := []string{"GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS"}
	f.Fuzz(func(t *testing.T, method uint8, target, accept, body string) {
		r, err := http.NewRequest(methods[int(method)%len(methods)], "http://x", io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = r.URL.Parse(target); err != nil || strings.HasSuffix(r.URL.Path, "/stream") ||
			r.URL.Host != "x" {
			return
		}
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		fa.mux.ServeHTTP(w, r)
		if w.Code < 200 || w.Code >= 500 && w.Code != 503 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// What next and stream write in a form, decode reads in that form, as the ID of the same namespace.
func TestForms(t *testing.T) {
	f := start(t)
	for _, form := range []string{
		"", "format=base58", "format=hex-fixed&prefix=ord", "format=base64url&prefix=a_b",
		"prefix=usr",
	} {
		w := f.do("GET", "/v1/default/next?n=2&"+form, "")
		var got struct{ IDs []string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.IDs) != 2 {
			t.Fatalf("%s: %v, %s", form, err, w.Body)
		}
		var ids []int64
		for _, text := range got.IDs {
			w := f.do("GET", "/v1/default/decode/"+text+"?"+form, "")
			var parts struct {
				ID   int64 `json:"id,string"`
				Time time.Time
			}
			if err := json.Unmarshal(w.Body.Bytes(), &parts); err != nil || time.Since(parts.Time).Abs() > time.Hour {
				t.Fatalf("%s, %s: %v, %s", form, text, err, w.Body)
			}
			ids = append(ids, parts.ID)
		}
		if ids[0] >= ids[1] {
			t.Errorf("%s: %v are %d", form, got.IDs, ids)
		}
	}
}

// IDs for a time gone by.
func TestNextAt(t *testing.T) {
	f := start(t)
	st := f.service.Store()
	l, err := snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2015-01-01,first=5")
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), st, "past", s, nil); err != nil {
		t.Fatal(err)
	}
	status := func(query string, code int, words string) {
		t.Helper()
		w := f.do("GET", "/v1/"+query, "")
		if w.Code != code || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d, %s; want %d with %q", query, w.Code, w.Body, code, words)
		}
	}
	const at = "past/next?at=2019-05-17T08:30:00Z"
	status(at, 422, "allow it")
	if _, err := lease.AllowPast(t.Context(), st, "past", 0, true); err != nil {
		t.Fatal(err)
	}
	status(at, 200, `{"ids":["578861767065600000"]}`)
	status(at+"&n=2", 200, `{"ids":["578861767069794304","578861767073988608"]}`)
	status(at+"&n=2&node=1&format=hex", 200, `{"ids":["`)
	status("past/next?at=1558081800000", 200, `{"ids":["578861767078182912"]}`)
	status(at+"&n=1000", 422, "no ID is left")
	status(at+"&node=1024", 400, "node")
	status(at+"&runs=true", 400, "runs")
	status("past/next?node=1", 400, "add at")
	status("past/next?at=yesterday", 400, "write it as")
	status("past/next?at=2999-01-01T00:00:00Z", 400, "yet to come")
	status("default/next?at=2019-05-17T08:30:00Z", 422, "allow it")
	status("past/next?n=3", 200, "ids")
	if _, err := lease.ConfirmPast(t.Context(), st, "past", lease.Span{Until: 1}); err != nil {
		t.Fatal(err)
	}
	status(at, 200, "ids")
	f.who = nil
	status(at, 401, "token")
}
