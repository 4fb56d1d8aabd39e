// Package mutants breaks the safety rules of leases one at a time, in a
// copy of the code, and checks that the test suite notices each. A rule
// whose mutant survives is a rule that nothing tests.
package mutants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutant is one broken rule: the function with the rule is changed by the
// ops, and then the named subtest has to fail.
type mutant struct {
	rule     string
	function string // see applied
	test     string
	ops      []op
	pkg      string // of the test; the function's own when empty
	runs     int    // seeds, for the simulation instead of a test
	layout   string // of all its runs; "" for one that each draws
	tags     string
	limit    string // on its time; 100s when empty
	whole    bool   // the test runs at full length only
}

func m(rule, function, test string, ops ...op) mutant {
	return mutant{rule: rule, function: function, test: test, ops: ops}
}

// in says in which package the test is.
func (m mutant) in(pkg string) mutant { m.pkg = pkg; return m }

// full has a test notice the mutant that -short leaves out, or that builds
// the program first.
func (m mutant) full() mutant { m.whole, m.limit = true, "10m"; return m }

// stalled has the tests notice that stop goroutines between two atomic
// steps.
func (m mutant) stalled() mutant {
	m.tags, m.limit = "snowfence_stall", "10m"
	return m
}

// seeds has the simulation notice the mutant, within so many seeds.
func (m mutant) seeds(n int, layout string) mutant {
	m.pkg, m.test = "./lab/simulate", cmp.Or(m.test, "^TestSeeds$")
	m.runs, m.layout, m.limit = n, layout, "10m"
	return m
}

var long = flag.Bool("long", false, "break all rules, those for the suite of stores, too, that the simulation has "+
	"to notice; else a few, with -short none, and check that the others fit the code")

// quick are rules that are broken without -long, too. Their tests take a
// second or two.
var quick = []string{
	"a batch goes by the witness",
	"layers: no more than its sequence numbers are",
	"randflake: a clock that went back uses no batch",
	"word: a renewal raises the bound no further than was acknowledged",
}

func TestLeaseMutants(t *testing.T) {
	run(t,
		leaseMutants, storeMutants, amazonMutants, closeMutants, stateFileMutants, changeMutants, txMutants,
		compatMutants, sonyflakeMutants, randflakeMutants, driftMutants,
		workerMutants, pastMutants, clibMutants, spreadMutants, wordMutants, sqlNodeMutants,
		limitMutants, moveMutants, agentMutants, lessorMutants)
}

// TestSimulationMutants checks that simulated fleets collide when a rule is
// broken.
func TestSimulationMutants(t *testing.T) {
	run(t, simulationMutants, sequenceMutants, subleaseMutants)
}

// run checks all mutants with -long, or without -short the quick ones, and
// of the others that they fit the code.
func run(t *testing.T, lists ...[]mutant) {
	root := must(filepath.Abs("../.."))
	broken := 0
	for _, m := range slices.Concat(lists...) {
		if !*long && (testing.Short() || !slices.Contains(quick, m.rule)) {
			wantErr(t, m.fits(root), nil, "%s", m.rule)
			continue
		}
		broken++
		t.Run(strings.ReplaceAll(m.rule, " ", "_"), func(t *testing.T) {
			t.Parallel()
			m.check(t, root)
		})
	}
	if broken == 0 && !testing.Short() {
		t.Error("quick names none of these rules")
	}
}

var testNames = regexp.MustCompile(`\bTest\w+`)

// fits checks that the function, the place in it and the test are there.
func (m mutant) fits(root string) error {
	if _, err := applied(root, m.function, m.ops); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(root, m.folder(root), "*_test.go"))
	if err != nil {
		return err
	}
	var code []byte
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		code = append(code, file...)
	}
	for _, name := range testNames.FindAllString(m.test, -1) {
		if !bytes.Contains(code, []byte("\nfunc "+name)) {
			return fmt.Errorf("%s: %s is not there: name the test that notices the mutant now", m.folder(root), name)
		}
	}
	return nil
}

// folder returns the folder of the tests.
func (m mutant) folder(root string) string {
	folder, _ := split(root, m.function)
	return cmp.Or(m.pkg, "./"+folder)
}

func (m mutant) check(t *testing.T, root string) {
	files := must(applied(root, m.function, m.ops))
	dir, replace := t.TempDir(), map[string]string{}
	for path, code := range files {
		broken := filepath.Join(dir, strconv.Itoa(len(replace))+filepath.Ext(path))
		noError(t, os.WriteFile(broken, code, 0o644))
		replace[path] = broken
	}
	overlay := must(json.Marshal(map[string]any{"Replace": replace}))
	overlayPath := filepath.Join(dir, "overlay.json")
	noError(t, os.WriteFile(overlayPath, overlay, 0o644))
	args := []string{
		"test", "-vet=off", "-ldflags=-s", "-short=" + strconv.FormatBool(!m.whole), "-count=1",
		"-timeout=" + cmp.Or(m.limit, "100s"), "-overlay=" + overlayPath, "-run=" + m.test, m.folder(root),
	}
	if m.tags != "" {
		args = append(args, "-tags="+m.tags)
	}
	if m.runs > 0 {
		args = append(args, "-seeds="+strconv.Itoa(m.runs), "-layout="+m.layout)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Errorf("the mutant survived %s: nothing tests the rule, or the test left itself out:\n%s", m.test, out)
	case !errors.As(err, &exit):
		t.Fatal(err)
	case m.runs > 0 && bytes.Contains(out, []byte("--- FAIL: "+strings.Trim(m.test, "^$"))):
		t.Logf("%s", out[:min(len(out), 400)])
	case bytes.Contains(out, []byte("panic: test timed out")):
		t.Errorf("nothing noticed the mutant for as long as it was tested: %s", m.test)
	case !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic:")):
		t.Errorf("the mutant was not tested:\n%s", out)
	}
}
