package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
)

// Ctrl-C ends a long run with 130. What it took is printed, so the next run goes on there.
func TestSequenceNextIsInterrupted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ids.db")
	command(t, "sequence", "create", "orders", "--store", "sqlite:"+store)
	cmd, stdout, stderr := start(t, store, "sequence", "next", "orders", "-n", "1000000000000")
	r := bufio.NewReader(stdout)
	first, err := readIDs(r, 10)
	if err != nil || len(first) != 10 || first[0] != 1 || first[9] != 10 {
		t.Fatal(first, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := readIDs(r, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || stderr.String() != "snowfence: interrupted\n" {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
	last := rest[len(rest)-1]
	if last != int64(10+len(rest)) {
		t.Errorf("%d numbers end with %d", 10+len(rest), last)
	}
	got := command(t, "sequence", "next", "orders", "--store", "sqlite:"+store)
	if got != strconv.FormatInt(last+1, 10)+"\n" {
		t.Errorf("%s follows %d", got, last)
	}
}

// A sequence over several stores is shown by each of them as the part that it is.
func TestSequenceOverSeveralStores(t *testing.T) {
	var urls []string
	var stores []lease.Store
	for range 2 {
		url := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
		st, err := open.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		urls, stores = append(urls, url), append(stores, st.Leases)
	}
	if err := sequence.CreateAny(t.Context(), stores, "orders", sequence.Definition{}, 5); err != nil {
		t.Fatal(err)
	}
	for i, url := range urls {
		class := strconv.Itoa(i)
		out := command(t, "sequence", "show", "orders", "--json", "--store", url)
		if !strings.Contains(out, `"state":"active"`) || !strings.Contains(out, `"class":`+class+`,"classes":5}`) {
			t.Errorf("store %d: %s", i, out)
		}
		out = command(t, "sequence", "show", "orders", "--store", url)
		if !strings.Contains(out, "part      class "+class+" of 5: this store has each 5. number\n") {
			t.Errorf("store %d: %s", i, out)
		}
	}
}
