package mutants

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lab/mutants/terms"
)

var (
	//go:embed equivalent.txt
	equivalentList string
	//go:embed sample.txt
	sampleList string

	table = flag.String("table", "", "with -long: a file for the row of docs/prove/figures.md")
)

// unfit are tests that do not run in a copy.
var unfit = map[string]string{
	"TestRootModuleNeedsOnlyTheStandardLibrary":   "it asks the go command about the module",
	"TestOnlyPinnedModulesImportInternalPackages": "a copy has no other modules",
	"TestScriptOfTheArgument":                     "a copy has no pages",
	"TestPagesNameWhatExists":                     "a copy has neither the page nor the other modules",
}

// TestTerms breaks each term of the code on the path of a grant alone: a
// sample's with the test that notices each, with -long all of them, and
// with -short none. The list of terms that nothing can notice has to be
// true and complete.
func TestTerms(t *testing.T) {
	root := must(filepath.Abs("../.."))
	found, copies, err := terms.Find(root, terms.Path)
	noError(t, err)
	reasons := must(terms.Reasons(equivalentList))
	sample := must(terms.Sample(sampleList))
	const stale = "%s has a mutant that is not there any more: remove it, or correct it where the code was changed:\n%s"
	for _, key := range terms.Stale(reasons, found) {
		t.Errorf(stale, "equivalent.txt", key)
	}
	for _, key := range terms.Stale(sample, found) {
		t.Errorf(stale, "sample.txt", key)
	}
	if testing.Short() {
		return // what is built takes minutes
	}
	packages := terms.Packages
	if !*long {
		packages = slices.DeleteFunc(slices.Clone(packages), func(pkg string) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Values(sample)),
				func(u *terms.Unit) bool { return u.Pkg == pkg })
		})
	}
	b := must(terms.Build(root, t.TempDir(), packages, found, copies))
	if *long {
		all(t, b, found, reasons)
		return
	}
	noError(t, b.Passes(slices.Collect(maps.Values(sample))))
	each(found, func(m terms.Mutant) {
		u := sample[m.Key]
		if u == nil {
			return
		}
		v, err := b.TryOne(m, u)
		if err != nil || !v.Killed {
			t.Errorf("%s does not notice the mutant at %s (%v):\n%s", u.Name, m.Line, err, m.Key)
		}
	})
}

// each calls f for all mutants, as many at once as there are processors.
func each(found []terms.Mutant, f func(terms.Mutant)) {
	work := make(chan terms.Mutant)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for m := range work {
				f(m)
			}
		})
	}
	for _, m := range found {
		work <- m
	}
	close(work)
	wg.Wait()
}

// all tries every mutant with every test that reaches it.
func all(t *testing.T, b *terms.Built, found []terms.Mutant, reasons map[string]string) {
	units := must(b.Units(unfit))
	for _, u := range units {
		noError(t, b.Record(u))
	}
	var mu sync.Mutex
	noticed := map[string]*terms.Unit{} // by function: by what its last mutant was
	var killed, endless, equivalent int
	each(found, func(m terms.Mutant) {
		reason := reasons[m.Key]
		noEnd := strings.HasPrefix(reason, "endless")
		function, _, _ := strings.Cut(m.Key, ": ")
		mu.Lock()
		first := noticed[function]
		mu.Unlock()
		v, err := b.Try(m, first, units, noEnd)
		mu.Lock()
		defer mu.Unlock()
		noticed[function] = cmp.Or(v.Unit, first)
		t.Logf("%s: killed %t by %s: %s", m.Line, v.Killed, v.By, m.Key)
		switch {
		case err != nil:
			t.Error(err)
		case v.Killed && v.By == terms.Endless && !noEnd:
			t.Errorf("no test ends with the mutant at %s, and equivalent.txt does not say why:\n%s", m.Line, m.Key)
		case v.Killed && v.By == terms.Endless:
			endless++
		case v.Killed && reason != "" && !noEnd:
			t.Errorf("%s notices the mutant at %s: take it out of equivalent.txt:\n%s", v.By, m.Line, m.Key)
		case v.Killed:
			killed++
		case reason == "" || noEnd:
			t.Errorf("nothing notices the mutant at %s: write a test, or say in equivalent.txt why none can:\n%s",
				m.Line, m.Key)
		default:
			equivalent++
		}
	})
	row := fmt.Sprintf("| %d | %d | %d | %d |\n", len(found), killed, endless, equivalent)
	t.Log(row)
	if *table != "" {
		noError(t, os.WriteFile(*table, []byte(row), 0o644))
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr
