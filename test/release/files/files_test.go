package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/release/licences"
)

var must = tests.NoError

const repository = "../../.."

var commit = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The order of a folder, the zone and the user of a machine change nothing.
func TestAnArchiveHasTheSameBytesEverywhere(t *testing.T) {
	program := entry{name: "snowfence", body: []byte("program"), program: true}
	page := entry{name: "man/snowfence.1", body: []byte("page")}
	for name, pack := range map[string]func(string, []entry, time.Time) ([]byte, error){"tar": tarball, "zip": zipped} {
		once, err := pack("snowfence", []entry{program, page}, commit)
		must(t, err)
		again, err := pack("snowfence", []entry{page, program}, commit.In(time.FixedZone("elsewhere", 20_700)))
		if err != nil || !bytes.Equal(once, again) {
			t.Errorf("%s: %v, two archives of the same files differ", name, err)
		}
	}
}

func TestAnArchiveHasOneFolder(t *testing.T) {
	packed, err := tarball("snowfence_1", []entry{{name: "snowfence", program: true}, {name: "LICENSE"}}, commit)
	must(t, err)
	small, err := gzip.NewReader(bytes.NewReader(packed))
	must(t, err)
	if small.Name != "" || !small.ModTime.IsZero() {
		t.Errorf("gzip names %q at %v", small.Name, small.ModTime)
	}
	var got []string
	for r := tar.NewReader(small); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %d %v", h.Name, h.Mode, h.Uid, h.ModTime.Equal(commit)))
	}
	want := []string{"snowfence_1/LICENSE 644 0 true", "snowfence_1/snowfence 755 0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
}

func TestTheFormulaHasTheChecksumOfEachArchive(t *testing.T) {
	sums := map[string]string{}
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		name := "snowfence_1.2.3_" + platform + ".tar.gz"
		sum := sha256.Sum256([]byte(name))
		sums[name] = hex.EncodeToString(sum[:])
	}
	text, complete := formula("v1.2.3", sums)
	if !complete {
		t.Error("the formula is not complete")
	}
	pair := regexp.MustCompile(`url ".*/v1\.2\.3/(.*)"\n\s+sha256 "(.*)"`)
	pairs := pair.FindAllStringSubmatch(text, -1)
	if len(pairs) != 4 {
		t.Fatalf("the formula has %d archives, want 4:\n%s", len(pairs), text)
	}
	for _, p := range pairs {
		if sums[p[1]] == "" || sums[p[1]] != p[2] {
			t.Errorf("the formula has the checksum %s of %s, want %s", p[2], p[1], sums[p[1]])
		}
	}
	delete(sums, "snowfence_1.2.3_darwin_arm64.tar.gz")
	if _, complete := formula("v1.2.3", sums); complete {
		t.Error("a formula without a checksum is complete")
	}
}

// This test is a program with a list of what is linked into it, as any.
func TestTheListOfPartsNamesWhatIsLinked(t *testing.T) {
	file, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(file)
	must(t, err)
	mod := licences.Module{Path: "golang.org/x/mod", Texts: []licences.Text{{IDs: []string{"BSD-3-Clause", "MIT"}}}}
	b := &build{commitTime: commit, linkedModules: []licences.Module{mod}, root: repository}
	text, err := b.listParts(program, "snowfence_1")
	must(t, err)
	type component struct {
		Name, Purl string
		Licenses   []struct {
			Expression string
			License    struct{ ID string }
		}
	}
	var list struct {
		SpecVersion, SerialNumber string
		Metadata                  struct{ Timestamp string }
		Components                []component
	}
	must(t, json.Unmarshal(text, &list))
	if list.SpecVersion != "1.6" || list.Metadata.Timestamp != "2026-11-22T12:00:00Z" {
		t.Errorf("CycloneDX %s at %s", list.SpecVersion, list.Metadata.Timestamp)
	}
	uuid := regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if !uuid.MatchString(list.SerialNumber) {
		t.Errorf("the serial number is %q", list.SerialNumber)
	}
	found := map[string]string{}
	for _, c := range list.Components {
		found[c.Name] = c.Licenses[0].Expression + c.Licenses[0].License.ID
	}
	if found["std"] != "BSD-3-Clause" || found[mod.Path] != "BSD-3-Clause AND MIT" || found["preact"] != "MIT" {
		t.Errorf("the licences are %v", found)
	}

	b.linkedModules = nil
	tests.Fails(t, tests.ErrOf(b.listParts(program, "snowfence_1")),
		"a program with a part without a licence is not refused")
}

// The unit starts the program where the packages put it, as the user that
// they make.
func TestThePackagesHaveWhatTheUnitNeeds(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
		must(t, err)
		return string(text)
	}
	unit, contents := read("deploy/systemd/snowfence.service"), read(settings)
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) .*--config (\S+)/`).FindStringSubmatch(unit)
	user := regexp.MustCompile(`(?m)^User=(\S+)$`).FindStringSubmatch(unit)
	if start == nil || user == nil {
		t.Fatal("the unit starts no program, or as no user")
	}
	for file, want := range map[string]string{
		settings:                         "dst: " + start[1] + "\n",
		"deploy/packaging/sysusers.conf": "\nu " + user[1] + " - ",
		"deploy/packaging/installed.sh":  "-g " + user[1] + " " + start[2] + "\n",
	} {
		if !strings.Contains(read(file), want) {
			t.Errorf("%s has no %q", file, want)
		}
	}
	for _, text := range []string{"LICENSE", "NOTICE", "THIRD-PARTY-NOTICES.txt"} {
		if !strings.Contains(contents, "src: "+text+"\n") {
			t.Errorf("the packages lack %s", text)
		}
	}
}
