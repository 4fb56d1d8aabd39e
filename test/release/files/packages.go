package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// settings lists the content of the packages, for nfpm.
const settings = "deploy/packaging/nfpm.yaml"

// makePackages makes the packages of Debian and Red Hat, and returns their
// checksums by name.
func (b *build) makePackages(arch string, program []byte) (map[string]string, error) {
	stage, err := os.MkdirTemp("", "snowfence-packages-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if err := b.stageFiles(stage, program); err != nil {
		return nil, err
	}
	config, err := filepath.Abs(settings)
	if err != nil {
		return nil, err
	}
	number := strings.TrimPrefix(b.version, "v")
	sums := map[string]string{}
	redHat := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	for packager, name := range map[string]string{
		"deb": fmt.Sprintf("snowfence_%s_%s.deb", number, arch),
		"rpm": fmt.Sprintf("snowfence-%s-1.%s.rpm", number, redHat),
	} {
		cmd := exec.Command(b.nfpm, "package", "--config", config, "--packager", packager, "--target", name)
		cmd.Dir = stage
		cmd.Env = append(os.Environ(), "VERSION="+number, "ARCH="+arch,
			"SOURCE_DATE_EPOCH="+strconv.FormatInt(b.commitTime.Unix(), 10))
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s for %s: %w\n%s", packager, arch, err, out)
		}
		body, err := os.ReadFile(filepath.Join(stage, name))
		if err != nil {
			return nil, err
		}
		if sums[name], err = b.writeFile(name, body); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// stageFiles writes the files of the packages to a folder, with the time of
// the commit.
func (b *build) stageFiles(dir string, program []byte) error {
	all := []entry{{name: "snowfence", body: program, program: true}}
	for _, e := range b.texts {
		if strings.HasPrefix(e.name, "man/") {
			small, err := gzipped(e.body)
			if err != nil {
				return err
			}
			e = entry{name: e.name + ".gz", body: small}
		}
		all = append(all, e)
	}
	for _, file := range []string{
		"deploy/systemd/snowfence.service", "deploy/systemd/snowfence-agent.service", "deploy/packaging/sysusers.conf",
		"deploy/packaging/installed.sh", "deploy/packaging/remove.sh",
	} {
		body, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			return err
		}
		all = append(all, entry{name: filepath.Base(file), body: body, program: strings.HasSuffix(file, ".sh")})
	}
	for _, e := range all {
		file := filepath.Join(dir, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, e.body, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(file, os.FileMode(e.mode())); err != nil { // whatever the umask is
			return err
		}
		if err := os.Chtimes(file, b.commitTime, b.commitTime); err != nil {
			return err
		}
	}
	return nil
}
