package rest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// openDoc is the OpenAPI document, as a value.
type openDoc map[string]any

func document(t *testing.T) openDoc {
	t.Helper()
	text := must(openAPI((&rest{s: new(server.Service)}).boundRoutes()))
	var d openDoc
	noError(t, json.Unmarshal(text, &d))
	return d
}

// at follows keys; nil when one is not there.
func (d openDoc) at(keys ...string) any {
	var v any = map[string]any(d)
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// route returns the path of the document that a target is of, "" for none.
func (d openDoc) route(target string) string {
	path, _, _ := strings.Cut(target, "?")
	for route := range d.at("paths").(map[string]any) {
		if slices.EqualFunc(strings.Split(path, "/"), strings.Split(route, "/"), func(got, want string) bool {
			return got == want || strings.HasPrefix(want, "{")
		}) {
			return route
		}
	}
	return ""
}

// answers checks an answer against what the document says of its path.
func (d openDoc) answers(t *testing.T, what, route, method string, w *httptest.ResponseRecorder) {
	t.Helper()
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	path := []string{"paths", route, method, "responses", fmt.Sprint(w.Code), "content", kind, "schema"}
	schema, ok := d.at(path...).(map[string]any)
	if !ok {
		t.Errorf("%s: the document has no answer %d of %s", what, w.Code, kind)
		return
	}
	d.matches(t, what, w.Body.Bytes(), schema)
}

func (d openDoc) matches(t *testing.T, what string, body []byte, schema map[string]any) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := d.check(v, schema); err != nil {
		t.Errorf("%s: %v in %.300s", what, err, body)
	}
}

// check compares kinds and members. Objects may have no members but those
// that are described.
func (d openDoc) check(v any, schema map[string]any) error {
	if ref, ok := schema["$ref"].(string); ok {
		if schema, ok = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any); !ok {
			return fmt.Errorf("%s leads nowhere", ref)
		}
	}
	kind := map[string]string{
		"string": "string", "float64": "integer", "bool": "boolean", "[]interface {}": "array",
		"map[string]interface {}": "object",
	}[fmt.Sprintf("%T", v)]
	if kind != schema["type"] {
		return fmt.Errorf("%v is no %v", v, schema["type"])
	}
	if list, ok := v.([]any); ok {
		for _, item := range list {
			if err := d.check(item, schema["items"].(map[string]any)); err != nil {
				return err
			}
		}
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range schema["required"].([]any) {
		if _, ok := members[name.(string)]; !ok {
			return fmt.Errorf("%v is missing", name)
		}
	}
	for name, member := range members {
		described, ok := schema["properties"].(map[string]any)[name].(map[string]any)
		if !ok {
			return fmt.Errorf("the member %q is not described", name)
		}
		if err := d.check(member, described); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
