package scope

import (
	"strings"
	"testing"
)

// A namespace of a later format is refused by all who read it.
func TestFormat(t *testing.T) {
	g := empty(t, "twitter")
	r := g.namespace().record
	later := strings.Replace(r.Data, `"format":1`, `"format":2`, 1)
	if later == r.Data {
		t.Fatalf("%s has no format", r.Data)
	}
	r.Data = later
	says(t, errOf(ReadNamespace(g.st, r)), "start one of the version that the others have", "")
}
