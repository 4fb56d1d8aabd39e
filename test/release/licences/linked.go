package licences

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/test/release"
)

// Systems are those for which we build programs. They link different
// modules.
var Systems = []string{"linux", "darwin", "windows"}

// source is a linked module, where its files are, and its linked packages
// from there.
type source struct {
	Module
	dir      string
	packages []string
}

// Linked returns the modules of others that are linked into packages, by
// path. dir is the folder of the module, and env the environment of the go
// command.
func Linked(dir string, env []string, packages ...string) ([]Module, error) {
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
		if p.Module == nil || release.Ours(p.Module.Path) {
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
