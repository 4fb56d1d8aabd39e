package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// TestDocumentedCommands looks for each command in docs/reference/cli.md.
func TestDocumentedCommands(t *testing.T) {
	page := pages(t)["../../docs/reference/cli.md"]
	n := 0
	for _, c := range newRoot(&command.Env{}).Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if n++; !strings.Contains(page, "\n- `snowfence "+c.Name()+"`: ") {
			t.Errorf("the page does not name %q", c.Name())
		}
	}
	if n < 10 {
		t.Errorf("only %d commands", n)
	}
}

// TestDocumentedLayouts runs each command of docs/choose/layouts.md whose
// words are no placeholders.
func TestDocumentedLayouts(t *testing.T) {
	page := pages(t)["../../docs/choose/layouts.md"]
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	n := 0
	for _, m := range regexp.MustCompile("`snowfence ((?:plan|namespace)[^`]*)`").FindAllStringSubmatch(page, -1) {
		args := strings.Fields(m[1])
		if strings.ToUpper(args[len(args)-1]) == args[len(args)-1] && !strings.ContainsAny(m[1], "0123456789") ||
			len(args) == 1 {
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
			if code := run(t.Context(), []string{"plan", "--layout", spec}, strings.NewReader(""), io.Discard,
				io.Discard, env); code != 0 {
				t.Errorf("%q is no layout", spec)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d commands and layouts", n)
	}
}

var (
	sentinel = regexp.MustCompile(`(?m)^(?:\t|var )(Err[A-Z]\w*) .*= (?:fault\.Err|.*errors\.New)`)
	named    = regexp.MustCompile("`\\*?((?:snowfence|lease|scope|backfill|store|nodes)\\.(?:Err[A-Z]\\w*|\\w+Error))`")
	typed    = regexp.MustCompile(`(?m)^type (\w+Error) (?:struct|=)`)
)

// TestDocumentedErrors compares the errors of docs/reference/errors.md with
// the library's.
func TestDocumentedErrors(t *testing.T) {
	has, wants := map[string]bool{}, map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(pages(t)["../../docs/reference/errors.md"], -1) {
		has[m[1]] = true
	}
	for name, dir := range map[string]string{
		"snowfence": "../../", "lease": "../../lease/", "scope": "../../lease/scope/",
		"backfill": "../../lease/backfill/",
		"store":    "../../lease/store/",
		"nodes":    "../../nodes/",
	} {
		paths, err := filepath.Glob(dir + "*.go")
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(paths), err)
		}
		for _, path := range paths {
			data := must(os.ReadFile(path))
			for _, m := range append(sentinel.FindAllStringSubmatch(string(data), -1),
				typed.FindAllStringSubmatch(string(data), -1)...) {
				if first := m[1][0]; !strings.HasSuffix(path, "_test.go") && first >= 'A' && first <= 'Z' {
					wants[name+"."+m[1]] = true
				}
			}
		}
	}
	for name := range wants {
		if !has[name] {
			t.Errorf("the page does not name %s", name)
		}
	}
	for name := range has {
		if !wants[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(wants) < 15 {
		t.Errorf("only %d errors", len(wants))
	}
}
