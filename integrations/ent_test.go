package integrations

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const module = "github.com/snowfence/snowfence"

// testEnt makes a module of testdata/ent with the versions of ours, has ent
// generate its code, and runs the test in it.
func testEnt(t *testing.T, url string) {
	root := must(filepath.Abs(".."))
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS("testdata/ent")))
	for _, name := range []string{"go.mod", "go.sum"} {
		data := must(os.ReadFile(name))
		check(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	for _, args := range [][]string{
		{
			"mod", "edit", "-module=example.com/orders", "-replace=" + module + "=" + root,
			"-droprequire=" + module + "/integrations/gormid", "-droprequire=" + module + "/integrations/pgxid",
			"-droprequire=" + module + "/test",
		},
		{"get", "entgo.io/ent@v0.14.5", "entgo.io/ent/cmd/ent@v0.14.5"},
		{"run", "entgo.io/ent/cmd/ent", "generate", "./schema", "--target", "./ent"},
		{"test", "-count=1", "."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "DATABASE_URL="+url)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args, err, out)
		}
	}
}
