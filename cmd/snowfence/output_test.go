package main

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

var number = regexp.MustCompile(`\b[0-9]{15,19}\b`)

// otherIDs are numbers in the pages that are no IDs of the default layout,
// and what they are.
var otherIDs = map[string]string{
	"653022933811200000": "made by both layouts of a change that is refused",
	"9007199254740991":   "2^53 - 1, the last number of a sequence",
}

// TestDocumentedIDs reads each ID in the pages with the default layout, and
// wants it to be of the year in which the pages were written.
func TestDocumentedIDs(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.Default()))
	n := 0
	for path, text := range pages(t) {
		for _, digits := range number.FindAllString(text, -1) {
			if otherIDs[digits] != "" {
				continue
			}
			n++
			id := must(strconv.ParseInt(digits, 10, 64))
			if p, err := s.Decode(snowfence.ID(id)); err != nil || p.Time.Year() != 2026 {
				t.Errorf("%s: %s is no ID of the default layout from 2026: %v, %v", path, digits,
					p.Time.Format(time.RFC3339), err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d IDs", n)
	}
}

var (
	shown   = regexp.MustCompile(`(?m)^\$ snowfence (.*)\n((?:[^$\n].*\n?)*)`)
	changes = regexp.MustCompile(`\b[0-9]{15,19}\b(\t\w+)?|\([^()]* (ago|now)[^()]*, `)
)

// TestDocumentedOutput runs the commands that README and the page of
// sequences show with their output, and compares it but for IDs that are
// new and for how long ago something was.
func TestDocumentedOutput(t *testing.T) {
	all := pages(t)
	if n := documentedOutput(t, all["../../README.md"]); n < 4 {
		t.Errorf("only %d commands", n)
	}
	if n := documentedOutput(t, all["../../docs/choose/sequences.md"]); n < 4 {
		t.Errorf("only %d commands about sequences", n)
	}
}

func documentedOutput(t *testing.T, page string) (n int) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir(), "SNOWFENCE_NAMESPACE=default\r"} // of a file with CRLF
	// as in "Try it", which makes the store and says so
	run(t.Context(), []string{"new"}, nil, io.Discard, io.Discard, env)
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		for _, c := range shown.FindAllStringSubmatch(block[2], -1) {
			args := strings.Fields(c[1])
			if block[1] != "console" || args[0] == "serve" {
				continue
			}
			n++
			var stdout, stderr bytes.Buffer
			run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
			got := changes.ReplaceAllString(stdout.String(), "NEW")
			want, cut := strings.CutSuffix(changes.ReplaceAllString(c[2], "NEW"), "…\n")
			if stderr.Len() > 0 || got != want && !(cut && strings.HasPrefix(got, want)) {
				t.Errorf("snowfence %s prints\n%s%sthe page has\n%s", c[1], stdout.String(), stderr.String(), c[2])
			}
		}
	}
	return n
}
