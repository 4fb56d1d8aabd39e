package terms

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Built are the tests of some packages, with all mutants in them.
type Built struct {
	root, dir string
	packages  []string
	size      int // more than the highest number of a mutant
}

// Packages are the folders of the asked tests, the nearest first.
var Packages = []string{
	".", stalled, "statefile", "compat/internal/process", "compat/sonyflake", "compat/randflake", "compat/idgen",
	"redisstore/workerid",
	"lease/scope", "lease/backfill", "lease/internal/claim", "lease", "lease/sublet", "lease/internal/ticket",
	"lease/store", "lease/store/storetest", "sequence", "cmd/internal/lessor", "cmd/internal/server", forwarding,
	simulation,
}

const (
	simulation = "lab/simulate"
	forwarding = "cmd/internal/serve"

	// stalled is not a folder: the root package's tests that stop
	// goroutines between two atomic steps, which a build tag turns on.
	stalled = "stalled"
)

// Build compiles the tests of the packages with all mutants, in a folder.
func Build(root, dir string, packages []string, found []Mutant, copies map[string][]byte) (*Built, error) {
	replace := map[string]string{}
	for path, code := range copies {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, code, 0o644); err != nil {
			return nil, err
		}
		replace[filepath.Join(root, path)] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o644); err != nil {
		return nil, err
	}
	b := &Built{root: root, dir: dir, packages: packages, size: len(found) + 2}
	for _, pkg := range packages {
		if err := b.makeFolder(pkg); err != nil {
			return nil, err
		}
		args := []string{"test", "-c", "-vet=off", "-ldflags=-s", "-overlay=" + overlay, "-o", b.binaryOf(pkg)}
		if pkg == stalled {
			args = append(args, "-tags=snowfence_stall")
		}
		cmd := exec.Command("go", append(args, "./"+folderOf(pkg))...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("terms: compiling the mutants: %w\n%s", err, out)
		}
	}
	return b, nil
}

// binaryOf is where the tests of a package are, whatever the folder of the
// repository is called.
func (b *Built) binaryOf(pkg string) string {
	return filepath.Join(b.dir, "tests-"+strings.ReplaceAll(pkg, "/", "-"))
}

func folderOf(pkg string) string {
	if pkg == stalled {
		return "."
	}
	return pkg
}

// workFolder is the folder in which the tests of a package run: with a
// mutant they may write where they should not.
func (b *Built) workFolder(pkg string) string { return filepath.Join(b.workRoot(pkg), folderOf(pkg)) }

func (b *Built) workRoot(pkg string) string {
	return filepath.Join(b.dir, "work", "of-"+strings.ReplaceAll(pkg, "/", "-"))
}

// makeFolder makes the folder of a package's tests, with links to all that
// is in the package's own, and in the folders above it.
func (b *Built) makeFolder(pkg string) error {
	from, to := b.root, b.workRoot(pkg)
	for _, part := range append(strings.Split(filepath.Clean(folderOf(pkg)), "/"), "") {
		if part == "." {
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		entries, err := os.ReadDir(from)
		for _, e := range entries {
			if name := e.Name(); err == nil && name != part {
				err = os.Symlink(filepath.Join(from, name), filepath.Join(to, name))
			}
		}
		if err != nil {
			return err
		}
		from, to = filepath.Join(from, part), filepath.Join(to, part)
	}
	return nil
}
