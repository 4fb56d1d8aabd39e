package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

func TestRearrange(t *testing.T) {
	root := newRoot(command.New(nil, nil, nil, nil))
	for args, want := range map[string]string{
		"":                               "",
		"decode":                         "decode --",
		"decode -5":                      "decode -- -5",
		"decode -5 --json":               "decode --json -- -5",
		"decode 1 -5 --layout discord 2": "decode --layout discord -- 1 -5 2",
		"decode --layout=discord -5":     "decode --layout=discord -- -5",
		"decode --json -- --5":           "decode --json -- --5",
		"decode -5 --layout":             "decode --layout -- -5",
		"decode -h -5":                   "decode -h -- -5",
		"decode - -x":                    "decode -- - -x",
		"new -n 5":                       "new -n 5",
		"nonsense -5":                    "nonsense -5",
	} {
		if got := command.MoveIDsLast(root, strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q becomes %q, want %q", args, got, want)
		}
	}
}
