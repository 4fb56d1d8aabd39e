// Files builds the downloads of a release, and publishes nothing: the
// program for each system as an archive and as packages of Debian and Red
// Hat, a formula for Homebrew, a list of parts for each program (SBOM), and
// checksums. The same commit and Go give the same bytes.
//
//	files -nfpm PROGRAM -platforms "linux/amd64 darwin/arm64" OUT
//
// It runs in the root of the repository, which has no changes, and writes
// to the empty folder OUT.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence/test/release"
	"github.com/snowfence/snowfence/test/release/licences"
)

// build is one run of this program.
type build struct {
	root          string // of the repository
	out           string
	version       string // such as v1.2.3
	nfpm          string
	commitTime    time.Time // of the commit: the time of each file
	modules       []release.Module
	texts         []entry // what each archive has besides the program
	linkedModules []licences.Module
	edges         map[string][]string // go mod graph, by module without version
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("files: ")
	nfpm := flag.String("nfpm", "", "the program nfpm, which makes the packages")
	only := flag.String("platforms", "", "for which systems and architectures")
	flag.Parse()
	if flag.NArg() != 1 || *nfpm == "" || *only == "" {
		log.Fatal("usage: files -nfpm PROGRAM -platforms PLATFORMS OUT")
	}
	if err := run(flag.Arg(0), *nfpm, strings.Fields(*only)); err != nil {
		log.Fatal(err)
	}
}

func run(out, nfpm string, only []string) error {
	b := &build{root: ".", nfpm: nfpm}
	var err error
	if b.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := b.readCommit(); err != nil {
		return err
	}
	maker, err := newMaker(b.version, b.modules)
	if err != nil {
		return err
	}
	defer maker.close()
	if err := b.readParts(maker); err != nil {
		return err
	}
	if b.texts, err = b.commonFiles(maker); err != nil {
		return err
	}
	if err := maker.checkInstall(b.version); err != nil {
		return err
	}
	sums := map[string]string{}
	for _, platform := range only {
		system, arch, _ := strings.Cut(platform, "/")
		program, err := maker.buildProgram(system, arch)
		if err != nil {
			return err
		}
		files, err := b.writePlatform(system, arch, program)
		if err != nil {
			return err
		}
		maps.Copy(sums, files)
		log.Printf("%s: %d bytes", platform, len(program))
	}
	if text, complete := formula(b.version, sums); complete {
		if sums["snowfence.rb"], err = b.writeFile("snowfence.rb", []byte(text)); err != nil {
			return err
		}
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	_, err = b.writeFile("SHA256SUMS", []byte(list.String()))
	return err
}

// readCommit finds the version and the time of the commit. It refuses a
// folder with changes, and a commit with the tag of another version.
func (b *build) readCommit() error {
	var err error
	if b.modules, b.version, err = release.Modules("."); err != nil {
		return err
	}
	changes, err := output("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the folder has changes, commit them first:\n%s", changes)
	}
	tags, err := output("git", "tag", "--points-at", "HEAD", "v*")
	if err != nil {
		return err
	}
	if tags != "" && !slices.Contains(strings.Fields(tags), b.version) {
		return fmt.Errorf("the commit has the tag %s, but go.work names %s", tags, b.version)
	}
	seconds, err := output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	b.commitTime = time.Unix(unix, 0).UTC()
	return err
}

// writePlatform writes the files of a platform, and returns the checksums
// by name.
func (b *build) writePlatform(system, arch string, program []byte) (map[string]string, error) {
	number := strings.TrimPrefix(b.version, "v")
	base := fmt.Sprintf("snowfence_%s_%s_%s", number, system, arch)
	name, pack := "snowfence", tarball
	ending := ".tar.gz"
	if system == "windows" {
		name, pack, ending = "snowfence.exe", zipped, ".zip"
	}
	files := append(slices.Clip(b.texts), entry{name: name, body: program, program: true})
	archive, err := pack(base, files, b.commitTime)
	if err != nil {
		return nil, err
	}
	parts, err := b.listParts(program, base)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for name, body := range map[string][]byte{base + ending: archive, base + ".cdx.json": parts} {
		if sums[name], err = b.writeFile(name, body); err != nil {
			return nil, err
		}
	}
	if system == "linux" {
		packages, err := b.makePackages(arch, program)
		if err != nil {
			return nil, err
		}
		maps.Copy(sums, packages)
	}
	return sums, nil
}

// output runs a command and returns its output.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
