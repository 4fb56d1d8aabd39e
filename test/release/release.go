// Package release rehearses a release: it packs the modules of this
// repository as a module proxy serves them, and installs them from there as
// users do. Nothing is published.
package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// root is the import path of the library, and the beginning of all others.
const root = "github.com/snowfence/snowfence"

// unreleased lists the modules that only this repository imports. They get
// no tag.
var unreleased = map[string]bool{
	root + "/lab":                 true,
	root + "/integrations":        true, // examples, compiled and run
	root + "/internal/sparx/_asm": true,
	root + "/scripts":             true,
	root + "/test":                true,
}

// Module is a module that gets a tag.
type Module struct {
	Path  string
	Dir   string           // from the root of the repository, "." for the root module
	Needs []module.Version // our own modules that its go.mod requires
}

// Ours reports whether a module is one of this repository.
func Ours(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// Tag returns the tag by which the go command finds version v of the
// module.
func (m Module) Tag(v string) string { return path.Join(m.Dir, v) }

// Modules reads the modules in go.work of the repository in dir that get
// tags, each after those that it requires, and their version. It fails if
// one has a replace directive, or if they require other versions of each
// other.
func Modules(dir string) ([]Module, string, error) {
	file := filepath.Join(dir, "go.work")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil, "", err
	}
	versions := map[string]bool{}
	for _, r := range work.Replace {
		versions[r.Old.Version] = true
	}
	var all []Module
	for _, u := range work.Use {
		m, err := read(dir, path.Clean(u.Path))
		if err != nil {
			return nil, "", err
		}
		for _, n := range m.Needs {
			versions[n.Version] = true
		}
		if !unreleased[m.Path] {
			all = append(all, m)
		}
	}
	if len(versions) != 1 {
		return nil, "", fmt.Errorf("go.work and the go.mod files name %d versions of our modules, want one: %v",
			len(versions), versions)
	}
	ordered, err := order(all)
	return ordered, slices.Collect(maps.Keys(versions))[0], err
}

func read(dir, sub string) (Module, error) {
	file := filepath.Join(dir, sub, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return Module{}, err
	}
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return Module{}, err
	}
	if len(mod.Replace) > 0 {
		return Module{}, fmt.Errorf("%s has a replace directive, which go install refuses: put it into go.work", file)
	}
	m := Module{Path: mod.Module.Mod.Path, Dir: sub}
	for _, r := range mod.Require {
		if Ours(r.Mod.Path) {
			m.Needs = append(m.Needs, r.Mod)
		}
	}
	return m, nil
}

// order puts each module after those that it needs.
func order(all []Module) ([]Module, error) {
	var done []Module
	known := map[string]bool{}
	for len(all) > 0 {
		next := slices.IndexFunc(all, func(m Module) bool {
			return !slices.ContainsFunc(m.Needs, func(n module.Version) bool { return !known[n.Path] })
		})
		if next < 0 {
			return nil, fmt.Errorf("%d modules need each other: none can get its tag first", len(all))
		}
		known[all[next].Path] = true
		done = append(done, all[next])
		all = slices.Delete(all, next, next+1)
	}
	return done, nil
}

// Pack writes version v of the modules into the folder proxy, as
// GOPROXY=file://… reads it, and returns the sizes of the zip files by
// module path. It takes the files of the repository in dir, also those that
// are not committed yet.
func Pack(dir, proxy, v string, modules []Module) (map[string]int64, error) {
	tree, err := snapshot(dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tree)
	sizes := map[string]int64{}
	for _, m := range modules {
		if sizes[m.Path], err = pack(tree, proxy, v, m); err != nil {
			return nil, fmt.Errorf("pack %s: %w", m.Path, err)
		}
	}
	return sizes, nil
}

// snapshot copies the files that git knows or would add into a repository
// with one commit, because a zip is made from a commit. The caller removes
// the folder.
func snapshot(dir string) (string, error) {
	tree, err := os.MkdirTemp("", "snowfence-release-")
	if err != nil {
		return "", err
	}
	const steps = `set -e
git -C "$1" ls-files --cached --others --exclude-standard -z | (cd "$1" && xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh) |
	tar -C "$1" --null -T - -c | tar -C "$2" -x
cd "$2"
git init -q
git add -A
git -c user.name=rehearsal -c user.email=rehearsal@example.com commit -q -m rehearsal`
	if out, err := exec.Command("sh", "-c", steps, "sh", dir, tree).CombinedOutput(); err != nil {
		os.RemoveAll(tree)
		return "", fmt.Errorf("copy %s: %w\n%s", dir, err, out)
	}
	return tree, nil
}

func pack(tree, proxy, v string, m Module) (int64, error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(proxy, escaped, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	mod, err := os.ReadFile(filepath.Join(tree, m.Dir, "go.mod"))
	if err != nil {
		return 0, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{v, time.Now().UTC()})
	if err != nil {
		return 0, err
	}
	sub := m.Dir
	if sub == "." {
		sub = ""
	}
	var packed bytes.Buffer
	if err := zip.CreateFromVCS(&packed, module.Version{Path: m.Path, Version: v}, tree, "HEAD", sub); err != nil {
		return 0, err
	}
	files := map[string][]byte{"list": []byte(v + "\n"), v + ".info": info, v + ".mod": mod, v + ".zip": packed.Bytes()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return 0, err
		}
	}
	return int64(packed.Len()), nil
}
