package sequences

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedCode looks for each line of Go in docs/choose/sequences.md among the examples that
// are run.
func TestDocumentedCode(t *testing.T) {
	examples, err := os.ReadFile("../../sequence/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/choose/sequences.md")
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
			if lines++; !strings.Contains(string(examples), line) {
				t.Errorf("in no example: %s", line)
			}
		}
	}
	if lines < 10 {
		t.Errorf("only %d lines of code", lines)
	}
}
