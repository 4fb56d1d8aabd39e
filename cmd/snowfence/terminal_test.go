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

// FuzzDecode: whatever the input and flags are, decode ends with 0 or 2,
// says why, and prints at most one object a line of input.
func FuzzDecode(f *testing.F) {
	f.Add("2104672976770170879\n-5\n\nx", "twitter", "dec", false)
	f.Add("lfrlf9ts0000", "randflake-raw", "base32hex", true)
	f.Add("1", "time=41,node=10,seq=12,tick=1us", "hex-fixed", false)
	f.Fuzz(func(t *testing.T, input, layout, from string, guess bool) {
		args := []string{"decode", "--json", "--from=" + from}
		if !guess {
			args = append(args, "--layout="+layout)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(input), &stdout, &stderr, nil)
		if code != command.ExitOK && code != command.ExitUsage {
			t.Errorf("exit code %d", code)
		}
		if (code != command.ExitOK) != (stderr.Len() > 0) {
			t.Errorf("exit code %d with the messages %q", code, stderr.String())
		}
		if got, most := bytes.Count(stdout.Bytes(), []byte("\n")), strings.Count(input, "\n")+1; got > most {
			t.Errorf("%d lines out of %d", got, most)
		}
	})
}
