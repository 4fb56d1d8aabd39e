package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// "lease list" printed the escape sequences of labels and vetoes that a
// store had.
func TestLeaseListEscapesWhatAStoreHas(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	st := must(open.Open(t.Context(), url))
	s := must(snowfence.NewScheme(snowfence.Default()))
	ns := must(scope.Namespaces(st.Leases).Create(t.Context(), "default", s, nil))
	until := snowfence.Default().TickOf(time.Now().Add(time.Hour))
	record := func(node int64, veto string) store.Write {
		return store.Write{New: store.Record{
			Key: store.Key{Namespace: "default", Node: node}, Nonce: "n", Generation: ns.Generation, Until: until,
			Holder: "h", Label: "\x1b[2Jweb\u202e", Veto: veto,
		}}
	}
	for _, w := range []store.Write{record(0, ""), record(1, "old\nand\x1b[2J")} {
		must(store.Put(t.Context(), st.Leases, w))
	}
	noError(t, st.Close())
	t.Setenv("NODE", "0")
	for _, args := range [][]string{
		{"lease", "list", "--all"},
		{"lease", "list", "--all", "--json"},
		{"lease", "release", "1"},
		{"new", "--node", "env:NODE"},
		{"new", "--node", "1"},
	} {
		var out, errs bytes.Buffer
		p := command.New(strings.NewReader(""), &out, &errs, nil)
		execute(t.Context(), p, append(args, "--store", url))
		text := out.String() + errs.String()
		if strings.ContainsAny(text, "\x1b\u202e") && !strings.Contains(strings.Join(args, " "), "json") ||
			strings.Contains(text, "\x1b") || !strings.Contains(text, `\u001b[2J`) && !strings.Contains(text, `\x1b[2J`) {
			t.Errorf("%q: %q", args, text)
		}
	}
}
