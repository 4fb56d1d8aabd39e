package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// openDoc is the OpenAPI document, as a value.
type openDoc map[string]any

func document(t *testing.T) openDoc {
	t.Helper()
	text, err := openAPI((&rest{}).bound())
	if err != nil {
		t.Fatal(err)
	}
	var d openDoc
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
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

// check knows the part of JSON Schema that the document uses, and refuses any other.
// Objects may have no members but those that are described.
func (d openDoc) check(v any, schema map[string]any) error {
	for key := range schema {
		if !slices.Contains([]string{
			"$ref", "type", "properties", "required", "additionalProperties", "items",
			"enum", "pattern", "format", "description",
		}, key) {
			return fmt.Errorf("the keyword %q is not known to the test", key)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		s, ok := d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		if !ok {
			return fmt.Errorf("%s leads nowhere", ref)
		}
		return d.check(v, s)
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%v is none of %v", v, enum)
	}
	switch want := schema["type"]; x := v.(type) {
	case string:
		if want != "string" {
			return fmt.Errorf("%q is no %v", x, want)
		}
		if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(x) {
			return fmt.Errorf("%q does not match %s", x, p)
		}
		if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339Nano, x); err != nil {
				return err
			}
		}
	case float64:
		if want != "integer" || x != math.Trunc(x) {
			return fmt.Errorf("%v is no %v", x, want)
		}
	case bool:
		if want != "boolean" {
			return fmt.Errorf("%v is no %v", x, want)
		}
	case []any:
		items, ok := schema["items"].(map[string]any)
		if want != "array" || !ok {
			return fmt.Errorf("a list is no %v", want)
		}
		for _, item := range x {
			if err := d.check(item, items); err != nil {
				return err
			}
		}
	case map[string]any:
		if want != "object" {
			return fmt.Errorf("an object is no %v", want)
		}
		if required, ok := schema["required"].([]any); ok {
			for _, name := range required {
				if _, ok := x[name.(string)]; !ok {
					return fmt.Errorf("%v is missing", name)
				}
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, member := range x {
			s, ok := properties[name].(map[string]any)
			if !ok {
				s, ok = schema["additionalProperties"].(map[string]any)
			}
			if !ok {
				return fmt.Errorf("the member %q is not described", name)
			}
			if err := d.check(member, s); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	default:
		return fmt.Errorf("%v is of no type that is described", v)
	}
	return nil
}
