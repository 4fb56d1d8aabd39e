package terms

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Built are the tests of some packages, with all mutants in them.
type Built struct {
	root, dir string
	packages  []string
	size      int // more than the highest number of a mutant
}

// Packages are the folders whose tests are asked, the nearest first.
var Packages = []string{".", "lease", simulation}

const simulation = "internal/simulate"

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
		if err := b.folder(pkg); err != nil {
			return nil, err
		}
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s", "-overlay="+overlay, "-o", b.binary(pkg), "./"+pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("terms: compiling the mutants: %w\n%s", err, out)
		}
	}
	return b, nil
}

func (b *Built) binary(pkg string) string {
	return filepath.Join(b.dir, filepath.Base(filepath.Join(b.root, pkg))+".test")
}

// work is the folder in which the tests of a package run: with a mutant they may write where they
// should not.
func (b *Built) work(pkg string) string { return filepath.Join(b.dir, "work", pkg, "folder") }

// folder makes the folder of a package's tests, with links to all that is in the package's own.
func (b *Built) folder(pkg string) error {
	if err := os.MkdirAll(b.work(pkg), 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(b.root, pkg))
	for _, e := range entries {
		if err == nil {
			err = os.Symlink(filepath.Join(b.root, pkg, e.Name()), filepath.Join(b.work(pkg), e.Name()))
		}
	}
	return err
}
