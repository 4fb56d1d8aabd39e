package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// What people met who made IDs for the past, or audited a table.
func TestAdviceThatWasMissing(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	run := func(stdin string, want int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		p := command.New(strings.NewReader(stdin), &out, &out, nil)
		if code := execute(t.Context(), p, args); code != want || !strings.Contains(out.String(), says) {
			t.Errorf("%q: exit code %d, not %d: %s", args, code, want, &out)
		}
	}
	small := "time=41,node=10,seq=12,first=1,epoch=2015-01-01"
	run("", 0, "", "namespace", "create", "orders", "--layout", small, "--store", store)
	run("", 2, "take --backfill 0", "namespace", "change", "orders", "--backfill", "0-4", "--nobody-else",
		"--store", store)
	run("", 2, "the sequence numbers 0, by hand", "namespace", "change", "orders", "--backfill", "0", "--store", store)
	run("", 0, "", "namespace", "change", "orders", "--backfill", "0", "--nobody-else", "--store", store)
	at := []string{"new", "--namespace", "orders", "--store", store, "--at"}
	run("", 0, "", append(at, "2019-05-17 08:30:00+00", "-n", "1000")...)
	run("", 1, "no ID is left", append(at, "2019-05-17 08:30:00+00", "-n", "1000")...)
	run("2019-05-17\nyesterday\n", 2, "line 2 of standard input", append(at, "-")...)
	run("", 0, "512-1023", "namespace", "change", "orders", "--backfill-nodes", "512-1023", "--store", store)
	run("", 0, "512-1023", "namespace", "show", "orders", "--store", store)
	run("id,name\n1,a\n2,b\n", 2, "--column NAME", "audit", "-")
	run("{\"id\":1}\n{\"id\":2}\n", 2, "--field NAME", "audit", "-")
	run("no,name\nRE-2026-000001,a\n", 2, "--column NAME", "audit", "--gaps", "--pattern", "RE-{year}-{n:6}", "-")
	run("RE-2026-1\n", 2, "is no number of the pattern", "audit", "--gaps", "--pattern", "RE-{year}-{n:6}", "-")
	run("abc\n", 2, "abc", "audit", "-")
}

// HTTP takes the times that the shell takes, also those whose + a query
// made a space.
func TestTimesOfRequests(t *testing.T) {
	want := must(command.ParseTime("at", "2019-05-17T08:30:00Z"))
	for _, text := range []string{
		"2019-05-17 08:30:00+00", "2019-05-17 08:30:00 00", "2019-05-17 14:00:00 05:30", "2019-05-17T10:30:00 02:00",
		"2019-05-17 08:30:00", "2019-05-17T08:30:00", "1558081800000",
	} {
		if got, err := server.ParseTime(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := server.ParseTime("2019-05-17 later"); err == nil {
		t.Error("no error")
	}
}
