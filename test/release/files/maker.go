package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/snowfence/snowfence/test/release"
	"golang.org/x/mod/modfile"
)

// command is what we build: the package that users name to go install.
const command = "github.com/snowfence/snowfence/cmd/snowfence"

// flags give the same bytes in each folder. Users that give them to go
// install get our program. With gRPC's pages of traces the linker would
// keep every exported method: 14 MB.
var flags = []string{"-trimpath", "-buildvcs=false", "-tags=grpcnotrace", "-ldflags=-s -w -buildid="}

// maker builds the program as go install does, from the modules as a proxy
// serves them. So the program knows its version, and has the versions of
// others that go.mod of cmd names.
type maker struct {
	tmp string
	dir string // of an empty module
	env []string
}

func newMaker(version string, modules []release.Module) (*maker, error) {
	tmp, err := os.MkdirTemp("", "snowfence-files-")
	if err != nil {
		return nil, err
	}
	m := &maker{tmp: tmp, dir: filepath.Join(tmp, "module")}
	if err := m.loadModules(version, modules); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// close removes all folders.
func (m *maker) close() { os.RemoveAll(m.tmp) }

// programPath is where the program for a platform is.
func (m *maker) programPath(system, arch string) string {
	return filepath.Join(m.tmp, system+"-"+arch, "snowfence")
}

func (m *maker) loadModules(version string, modules []release.Module) error {
	proxy := filepath.Join(m.tmp, "proxy")
	if _, err := release.Pack(".", proxy, version, modules); err != nil {
		return err
	}
	before, err := output("go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	cache, others, _ := strings.Cut(before, "\n")
	// A module cache of its own: until the tag is pushed, the same version
	// may have other files.
	m.env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GOSUMDB=off", "CGO_ENABLED=0",
		"GOMODCACHE="+filepath.Join(m.tmp, "modules"), "GOENV=off", "GOAMD64=v1", "GOARM64=v8.0",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+others)
	text, err := os.ReadFile("cmd/go.mod")
	if err != nil {
		return err
	}
	mod, err := modfile.Parse("cmd/go.mod", text, nil)
	if err != nil {
		return err
	}
	known, err := os.ReadFile("cmd/go.sum")
	if err != nil {
		return err
	}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		return err
	}
	for name, body := range map[string]string{
		"go.mod": "module example.com/build\n\ngo " + mod.Go.Version + "\n", "go.sum": string(known),
	} {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(body), 0o644); err != nil {
			return err
		}
	}
	if _, err := m.runGo("get", command+"@"+version); err != nil {
		return err
	}
	return m.checkSums(string(known))
}

// checkSums refuses a module of others with files other than in go.sum of
// cmd.
func (m *maker) checkSums(known string) error {
	text, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if path, _, _ := strings.Cut(line, " "); !release.Ours(path) && !strings.Contains(known, line) {
			return fmt.Errorf("cmd/go.sum does not name %s: run scripts/tidy.sh", line)
		}
	}
	return nil
}

// runGo runs the go command in the empty module.
func (m *maker) runGo(args ...string) (string, error) { return m.runFor(nil, args...) }

func (m *maker) runFor(env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = m.dir, append(m.env[:len(m.env):len(m.env)], env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// checkInstall refuses a program for this machine that differs from an
// installed one.
func (m *maker) checkInstall(version string) error {
	ours, err := m.buildProgram(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	bin := filepath.Join(m.tmp, "bin")
	args := append(append([]string{"install"}, flags...), command+"@"+version)
	if _, err := m.runFor([]string{"GOBIN=" + bin, "GOFLAGS=-modcacherw"}, args...); err != nil {
		return err
	}
	theirs, err := os.ReadFile(filepath.Join(bin, filepath.Base(m.programPath(runtime.GOOS, runtime.GOARCH))))
	if err != nil {
		return err
	}
	if !bytes.Equal(ours, theirs) {
		return fmt.Errorf("go install makes another program: %d bytes, not %d", len(theirs), len(ours))
	}
	return nil
}

// buildProgram builds the program for a platform, unless it has done so.
func (m *maker) buildProgram(system, arch string) ([]byte, error) {
	file := m.programPath(system, arch)
	if _, err := os.Stat(file); err != nil {
		args := append(append([]string{"build", "-o", file}, flags...), command)
		if _, err := m.runFor([]string{"GOOS=" + system, "GOARCH=" + arch}, args...); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", system, arch, err)
		}
	}
	return os.ReadFile(file)
}
