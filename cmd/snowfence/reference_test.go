package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// TestDocumentedCommands looks for each command in docs/reference/cli.md.
func TestDocumentedCommands(t *testing.T) {
	page := pages(t)["../../docs/reference/cli.md"]
	n := 0
	for _, c := range (&program{}).root().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if n++; !strings.Contains(page, "[`snowfence "+c.Name()+"`](../man/snowfence-"+c.Name()+".1)") {
			t.Errorf("the page does not name %q", c.Name())
		}
	}
	if n < 10 {
		t.Errorf("only %d commands", n)
	}
}

// TestDocumentedKinds looks for each kind of error in docs/reference/errors.md.
func TestDocumentedKinds(t *testing.T) {
	page := pages(t)["../../docs/reference/errors.md"]
	n := 0
	for k := server.Internal; k == server.Internal || k.Name() != server.Internal.Name(); k++ {
		if n++; !strings.Contains(page, "\n| `"+k.Name()+"` | ") {
			t.Errorf("the page does not name %q", k.Name())
		}
	}
	if n < 10 {
		t.Errorf("only %d kinds", n)
	}
}

// TestDocumentedLayouts runs each command of docs/choose/layouts.md whose words are no placeholders.
func TestDocumentedLayouts(t *testing.T) {
	page := pages(t)["../../docs/choose/layouts.md"]
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	n := 0
	for _, m := range regexp.MustCompile("`snowfence ((?:plan|namespace)[^`]*)`").FindAllStringSubmatch(page, -1) {
		args := strings.Fields(m[1])
		if strings.ToUpper(args[len(args)-1]) == args[len(args)-1] && !strings.ContainsAny(m[1], "0123456789") || len(args) == 1 {
			continue
		}
		var stderr strings.Builder
		if n++; run(t.Context(), args, strings.NewReader(""), io.Discard, &stderr, env) != 0 {
			t.Errorf("snowfence %s: %s", m[1], stderr.String())
		}
	}
	for _, m := range regexp.MustCompile("`(time=[^`]*)`|`([a-z0-9-]+)`").FindAllStringSubmatch(page, -1) {
		if spec := m[1] + m[2]; spec != "" {
			n++
			if code := run(t.Context(), []string{"plan", "--layout", spec}, strings.NewReader(""), io.Discard, io.Discard, env); code != 0 {
				t.Errorf("%q is no layout", spec)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d commands and layouts", n)
	}
}
