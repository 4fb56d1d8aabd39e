package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// TestDecodeVectors decodes the published sample of every layout, and
// compares every number in it with what decode prints.
func TestDecodeVectors(t *testing.T) {
	data := must(os.ReadFile("testdata/layouts.json"))
	var layouts map[string]struct {
		Vectors []map[string]any `json:"vectors"`
	}
	noError(t, json.Unmarshal(data, &layouts))
	if len(layouts) < 11 {
		t.Fatalf("only %d layouts", len(layouts))
	}
	for name, l := range layouts {
		var ids []string
		for _, v := range l.Vectors {
			ids = append(ids, v["id"].(string))
		}
		var stdout, stderr bytes.Buffer
		stdin := strings.NewReader(strings.Join(ids, "\n"))
		code := run(t.Context(), []string{"decode", "--json", "--layout", name}, stdin, &stdout, &stderr, nil)
		if code != command.ExitOK || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", name, code, stderr.String())
			continue
		}
		dec := json.NewDecoder(&stdout)
		for _, v := range l.Vectors {
			var got struct {
				ID, Name string
				Fields   []struct{ Name, Value string }
			}
			noError(t, dec.Decode(&got))
			if got.Name != name || got.ID != v["id"] {
				t.Errorf("%s: got %v", name, got)
			}
			values := map[string]string{"id": got.ID}
			for _, f := range got.Fields {
				values[f.Name] = f.Value
			}
			for field, want := range v {
				if n, ok := want.(float64); ok {
					want = fmt.Sprint(int64(n))
				}
				if values[field] != want {
					t.Errorf("%s, ID %s: %s is %v, want %v", name, v["id"], field, values[field], want)
				}
			}
		}
	}
}
