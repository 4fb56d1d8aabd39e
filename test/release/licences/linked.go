package licences

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/test/release"
	"golang.org/x/mod/modfile"
)

// ours reports whether a module is one of this repository.
func ours(path string) bool { return release.Ours(path) }

// Systems are those for which we build programs. They link different modules.
var Systems = []string{"linux", "darwin", "windows"}

// Linked returns the modules of others that are linked into packages of the module cmd, by path, in
// the versions of its go.mod. dir is the root of the repository.
func Linked(dir string, packages ...string) ([]Module, error) {
	work, err := workspace(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Dir(work))
	return LinkedIn(filepath.Join(dir, "cmd"), append(os.Environ(), "GOWORK="+work, "GOFLAGS="), packages...)
}

// source is a linked module, where its files are, and its linked packages from there.
type source struct {
	Module
	dir      string
	packages []string
}

// LinkedIn is Linked for the module in the folder dir, and an environment for the go command.
func LinkedIn(dir string, env []string, packages ...string) ([]Module, error) {
	all := map[string]*source{}
	for _, system := range Systems {
		if err := list(all, dir, append(slices.Clip(env), "GOOS="+system, "CGO_ENABLED=0"), packages); err != nil {
			return nil, fmt.Errorf("for %s: %w", system, err)
		}
	}
	var modules []Module
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		var err error
		if s.Texts, err = Find(s.dir, s.packages); err != nil {
			return nil, err
		}
		modules = append(modules, s.Module)
	}
	return modules, nil
}

func list(all map[string]*source, dir string, env, packages []string) error {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Module"}, packages...)...)
	cmd.Dir, cmd.Env = dir, env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for found := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Module     *struct{ Path, Version, Dir string }
		}
		if err := found.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || ours(p.Module.Path) {
			continue
		}
		s := all[p.Module.Path]
		if s == nil {
			s = &source{Module: Module{Path: p.Module.Path, Version: p.Module.Version}, dir: p.Module.Dir}
			all[p.Module.Path] = s
		}
		sub := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
		s.packages = append(s.packages, sub)
	}
}

// workspace writes a go.work with the modules that cmd needs and no others, which may require newer
// versions than cmd does. The caller removes its folder.
func workspace(dir string) (string, error) {
	all, version, err := release.Modules(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return "", err
	}
	whole, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return "", err
	}
	needed := map[string]bool{}
	for _, m := range all {
		if m.Dir == "cmd" {
			needed[m.Path] = true
			for _, n := range m.Needs {
				needed[n.Path] = true
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "go %s\n", whole.Go.Version)
	for _, m := range all {
		if needed[m.Path] {
			folder := filepath.ToSlash(filepath.Join(dir, m.Dir))
			fmt.Fprintf(&b, "use %s\nreplace %s %s => %[1]s\n", folder, m.Path, version)
		}
	}
	tmp, err := os.MkdirTemp("", "snowfence-licences-")
	if err != nil {
		return "", err
	}
	work := filepath.Join(tmp, "go.work")
	return work, os.WriteFile(work, []byte(b.String()), 0o644)
}
