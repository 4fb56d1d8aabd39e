package sequences

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedCode looks for each line of Go on the pages of sequences
// among the examples that are run.
func TestDocumentedCode(t *testing.T) {
	var examples []byte
	for _, file := range []string{
		"../../../sequence/example_test.go", "../../../remote/example_test.go", "invoice_test.go",
	} {
		code := must(os.ReadFile(file))
		examples = append(examples, code...)
	}
	code, lines := false, 0
	for _, page := range []string{"sequences.md", "invoices.md"} {
		doc := must(os.ReadFile("../../../docs/choose/" + page))
		for line := range strings.Lines(string(doc)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "```"):
				code = line == "```go"
			case code:
				if lines++; !strings.Contains(string(examples), line) {
					t.Errorf("%s: in no example: %s", page, line)
				}
			}
		}
	}
	if lines < 40 {
		t.Errorf("only %d lines of code", lines)
	}
}
