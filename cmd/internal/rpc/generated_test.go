package rpc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The generated code is what the definition says now.
func TestGenerated(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed: make test installs it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("../../../scripts/proto.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameDefinition(t, filepath.Join(dir, "definition.binpb"))
	for _, name := range []string{
		"snowfencev1/snowfence.pb.go",
		"snowfencev1/snowfencev1connect/snowfence.connect.go",
	} {
		want := must(os.ReadFile(filepath.Join(dir, name)))
		got := must(os.ReadFile(filepath.Join("../../../remote", name)))
		if versionless(got) != versionless(want) {
			t.Errorf("remote/%s is not what proto/ makes: run scripts/proto.sh", name)
		}
	}
}

// sameDefinition compares the definition that the document of OpenAPI takes
// its words from.
func sameDefinition(t *testing.T, made string) {
	t.Helper()
	var sets [2]descriptorpb.FileDescriptorSet
	for i, name := range []string{made, "../rest/definition.binpb"} {
		b, err := os.ReadFile(name)
		if err == nil {
			err = proto.Unmarshal(b, &sets[i])
		}
		noError(t, err)
	}
	if !proto.Equal(&sets[0], &sets[1]) {
		t.Error("cmd/internal/rest/definition.binpb is not what proto/ says: run scripts/proto.sh")
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
