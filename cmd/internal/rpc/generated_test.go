package rpc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The generated code is what the definition says now.
func TestGenerated(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed: make setup installs it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("../../../scripts/proto.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{
		"snowfencev1/snowfence.pb.go",
		"snowfencev1/snowfencev1connect/snowfence.connect.go",
	} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../../remote", name))
		if err != nil {
			t.Fatal(err)
		}
		if versionless(got) != versionless(want) {
			t.Errorf("remote/%s is not what proto/ makes: run scripts/proto.sh", name)
		}
	}
}

// versionless leaves out the lines that name the versions of generators.
func versionless(b []byte) string {
	var kept []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "// \tprotoc") && !strings.HasPrefix(line, "// - protoc") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
