package rest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every path, every status that a caller can bring about, and the schema of
// each answer.
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
		{"/v1/{namespace}", "PUT", "/v1/tags", `{"layout":"tag=13,time=41,node=5,seq=4"}`, 201, ""},
		{"/v1/{namespace}/next", "GET", "/v1/tags/next?tag=8191", "", 200, ""},
		{"/v1/{namespace}/next", "POST", "/v1/tags/next?n=20&tag=0&runs=true", "", 200, ""},
		{"/v1/{namespace}/next", "GET", "/v1/tags/next?tag=8192", "", 400, "invalid"},
		{"/v1/{namespace}/next", "HEAD", "/v1/tags/next?tag=-1", "", 400, ""},
		{"/v1/{namespace}/next", "GET", "/v1/tags/next?tag=x", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/tags/next?n=20&tag=8192&runs=true", "", 400, "invalid"},
		{"/v1/{namespace}/next", "GET", "/v1/default/next?tag=0", "", 400, "invalid"},
		{"/v1/{namespace}/stream", "GET", "/v1/default/stream?tag=1", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/tags/range?from=0&to=1793577600000&within=tag=7", "", 200, ""},
		{"/v1/{namespace}/range", "GET", "/v1/tags/range?from=0&to=1793577600000", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/tags/range?from=0&to=1793577600000&within=tag", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/tags/range?from=0&to=1&within=tag=1,tag=2", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/tags/range?from=0&to=1&within=node=1", "", 400, "invalid"},
		{"/v1/{namespace}/range", "GET", "/v1/default/range?from=0&to=1&within=node=1", "", 400, "invalid"},
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

	// Each path is described and tested.
	for path, methods := range doc.at("paths").(map[string]any) {
		for method := range methods.(map[string]any) {
			if !reached[method+" "+path] {
				t.Errorf("%s %s is not tested", method, path)
			}
		}
	}
}
