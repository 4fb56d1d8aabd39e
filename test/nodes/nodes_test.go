// Package nodes tests what docs/choose/nodes.md says of node numbers.
package nodes

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedCode looks for each line of Go in docs/choose/nodes.md among the examples
// and tests that are run.
func TestDocumentedCode(t *testing.T) {
	var tested strings.Builder
	for _, path := range []string{
		"../../nodes/example_test.go", "../../example_test.go",
		"../../lease/example_nodes_test.go", "../../lease/example_test.go",
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tested.Write(b)
	}
	doc, err := os.ReadFile("../../docs/choose/nodes.md")
	if err != nil {
		t.Fatal(err)
	}
	code, lines := false, 0
	for line := range strings.Lines(string(doc)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			code = line == "```go"
		case code:
			if lines++; !strings.Contains(tested.String(), line) {
				t.Errorf("in no example: %s", line)
			}
		}
	}
	if lines < 15 {
		t.Errorf("only %d lines of code", lines)
	}
}
