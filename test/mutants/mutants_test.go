// Package mutants breaks the safety rules of leases one at a time, in a copy of the code,
// and checks that the test suite notices each. A rule whose mutant survives is a rule
// that nothing tests.
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
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutant is one broken rule: in a file of the module, old becomes now, and then the named
// subtest has to fail.
type mutant struct {
	rule     string
	file     string
	old, now string
	more     []edit // further changes of the same file, for rules that stand in several places
	pkg      string // "./lease" when empty
	test     string
	seeds    int    // for the simulation instead of a test
	layout   string // of all its runs; "" for one that each draws
}

// edit is a text and what it becomes.
type edit struct{ old, now string }

var long = flag.Bool("long", false, "break all rules, those for the suite of stores, too, that the simulation has "+
	"to notice; else a few, and check that the others fit the code")

// quick are rules that are broken without -long, too. Their tests take a second or two.
var quick = []string{
	"a batch goes by the witness",
	"fences: a grant has the numbers of its slice",
	"randflake: a grant that leaves lowers nothing",
	"word: a renewal raises the bound no further than was acknowledged",
}

func TestLeaseMutants(t *testing.T) {
	run(t,
		leaseMutants, storeMutants, closeMutants, stateFileMutants, holdersMutants, changeMutants, txMutants,
		compatMutants, sonyflakeMutants, randflakeMutants, driftMutants,
		workerMutants, pastMutants, clibMutants, fencedMutants, spreadMutants, sqlNodeMutants, limitMutants)
}

// TestSimulationMutants checks that simulated fleets collide when a rule is broken.
func TestSimulationMutants(t *testing.T) { run(t, simulationMutants, sequenceMutants) }

// run checks all mutants with -long, or else those of quick, and of the others that they fit
// the code.
func run(t *testing.T, lists ...[]mutant) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, m := range slices.Concat(lists...) {
		if !*long && !slices.Contains(quick, m.rule) {
			if _, err := m.broken(root); err != nil {
				t.Errorf("%s: %v", m.rule, err)
			}
			continue
		}
		broken++
		if m.seeds > 0 {
			m.pkg, m.test = "./internal/simulate", cmp.Or(m.test, "^TestSeeds$")
		}
		t.Run(strings.ReplaceAll(m.rule, " ", "_"), func(t *testing.T) {
			t.Parallel()
			m.check(t, root)
		})
	}
	if broken == 0 {
		t.Error("quick names none of these rules")
	}
}

// broken returns the file of a mutant as the mutant has it.
func (m mutant) broken(root string) ([]byte, error) {
	code, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	for _, e := range append([]edit{{m.old, m.now}}, m.more...) {
		if n := bytes.Count(code, []byte(e.old)); n != 1 {
			return nil, fmt.Errorf("%s has the text to break %d times, not once: %q", m.file, n, e.old)
		}
		code = bytes.Replace(code, []byte(e.old), []byte(e.now), 1)
	}
	return code, nil
}

func (m mutant) check(t *testing.T, root string) {
	code, err := m.broken(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(broken, code, 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): broken}})
	if err != nil {
		t.Fatal(err)
	}
	overlayPath := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	pkg := m.pkg
	if pkg == "" {
		pkg = "./lease"
	}
	args := []string{
		"test", "-vet=off", "-ldflags=-s", "-short", "-count=1", "-timeout=100s",
		"-overlay=" + overlayPath, "-run=" + m.test, pkg,
	}
	if m.seeds > 0 {
		args = append(args, "-seeds="+strconv.Itoa(m.seeds), "-layout="+m.layout)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Errorf("the mutant survived %s: nothing tests the rule", m.test)
	case !errors.As(err, &exit):
		t.Fatal(err)
	case m.seeds > 0 && bytes.Contains(out, []byte("--- FAIL: "+strings.Trim(m.test, "^$"))):
		t.Logf("%s", out[:min(len(out), 400)])
	case bytes.Contains(out, []byte("panic: test timed out")):
		t.Errorf("nothing noticed the mutant for as long as it was tested: %s", m.test)
	case !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic:")):
		t.Errorf("the mutant was not tested:\n%s", out)
	}
}
