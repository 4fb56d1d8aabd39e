package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDecodeVectors decodes the published sample of every layout, and compares every
// number in it with what decode prints.
func TestDecodeVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/layouts.json")
	if err != nil {
		t.Fatal(err)
	}
	var layouts map[string]struct {
		Vectors []map[string]any `json:"vectors"`
	}
	if err := json.Unmarshal(data, &layouts); err != nil {
		t.Fatal(err)
	}
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
		if code != exitOK || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", name, code, stderr.String())
			continue
		}
		dec := json.NewDecoder(&stdout)
		dec.UseNumber()
		for _, v := range l.Vectors {
			var got map[string]any
			if err := dec.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got["layout"] != name || got["id"] != v["id"] {
				t.Errorf("%s: got %v", name, got)
			}
			for field, want := range v {
				// The sample has its 64-bit numbers as strings.
				if text, ok := want.(string); ok && field != "id" {
					want = json.Number(text)
				} else if n, ok := want.(float64); ok {
					b, err := json.Marshal(int64(n))
					if err != nil {
						t.Fatal(err)
					}
					want = json.Number(b)
				}
				if got[field] != want {
					t.Errorf("%s, ID %s: %s is %v, want %v", name, v["id"], field, got[field], want)
				}
			}
		}
	}
}
