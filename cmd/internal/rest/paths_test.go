package rest

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

var filler = regexp.MustCompile(`<(\d+) x>`)

// Every path, every status that a caller can bring about, and the schema of
// each answer: a line of the script is a request, with its body, and the
// status of the answer, with the kind of its problem. "<9 x>" is nine x.
func TestPaths(t *testing.T) {
	f := start(t)
	doc := document(t)
	reached := map[string]bool{}
	for line := range strings.Lines(string(must(os.ReadFile("testdata/paths.txt")))) {
		request, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
		method, target, _ := strings.Cut(request, " ")
		target, body, _ := strings.Cut(target, " ")
		status, kind, _ := strings.Cut(answer, " ")
		code, route := must(strconv.Atoi(status)), doc.route(target)
		body = filler.ReplaceAllStringFunc(body, func(s string) string {
			return strings.Repeat("x", must(strconv.Atoi(s[1:strings.Index(s, " ")])))
		})
		w := f.do(method, target, body)
		if w.Code != code {
			t.Errorf("%s: %d %s, want %d", request, w.Code, w.Body, code)
			continue
		}
		reached[strings.ToLower(method)+" "+route] = true
		if kind != "" {
			var p problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Kind != kind || p.Status != code ||
				w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %v %s", request, err, w.Body)
			}
			doc.matches(t, request, w.Body.Bytes(), map[string]any{"$ref": "#/components/schemas/Problem"})
		} else if code < 204 {
			doc.answers(t, request, route, strings.ToLower(method), w)
		}
	}
	allow := f.do("OPTIONS", "/v1/default", "").Header().Get("Allow")
	if allow != "GET, HEAD, PUT, PATCH, DELETE, OPTIONS" {
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

// JSON of IDs is what encoding/json makes of the same texts.
func TestIDEncoder(t *testing.T) {
	for _, ids := range [][]snowfence.ID{{0}, {1, 2}, {2104672976770170879, 9223372036854775807, 42}} {
		var got struct{ IDs []string }
		var enc, whole idEncoder
		b := enc.append([]byte("x"), ids[:1])
		for i := 1; i < len(ids); i++ {
			b = enc.append(b, ids[i:i+1])
		}
		b = enc.end(b)
		if b[0] != 'x' {
			t.Fatalf("%q lost what was there before", b)
		}
		if len(ids) > 1 && string(b[1:]) != string(whole.end(whole.append(nil, ids))) {
			t.Errorf("%q in pieces is another text than at once", b)
		}
		if err := json.Unmarshal(b[1:], &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if len(got.IDs) != len(ids) {
			t.Fatalf("%s has %d IDs, want %d", b, len(got.IDs), len(ids))
		}
		for i, id := range ids {
			if got.IDs[i] != strconv.FormatInt(int64(id), 10) {
				t.Errorf("ID %d of %s, want %d", i, b, int64(id))
			}
		}
	}
}
