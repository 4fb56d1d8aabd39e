package sequences

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedCode looks for each line of Go in docs/choose/sequences.md among the examples that
// are run.
func TestDocumentedCode(t *testing.T) {
	var examples []byte
	for _, file := range []string{"../../sequence/example_test.go", "../../remote/example_test.go", "invoice_test.go"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, code...)
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
