//go:build unix

package journal

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedCode looks for each line of Go in docs/reference/adding-a-store.md in the
// store and its tests.
func TestDocumentedCode(t *testing.T) {
	var tested strings.Builder
	for _, path := range []string{
		"journal.go", "journal_test.go", "../linear/journal_test.go",
		"../../lease/store.go",
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tested.Write(b)
	}
	doc, err := os.ReadFile("../../docs/reference/adding-a-store.md")
	if err != nil {
		t.Fatal(err)
	}
	code, lines := false, 0
	for text := range strings.Lines(string(doc)) {
		text = strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(text, "```"):
			code = text == "```go"
		case code:
			if lines++; !strings.Contains(tested.String(), text) {
				t.Errorf("not in the example: %s", text)
			}
		}
	}
	if lines < 50 {
		t.Errorf("only %d lines of code", lines)
	}
}
