package program

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestVersions starts the program of the next format beside a server of this one, and the other way
// round: each refuses, names what has to stop, and starts when that has stopped.
func TestVersions(t *testing.T) {
	servers.Later(t)
	file, err := filepath.Abs("../../../lease/store/format.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed := strings.Replace(string(source), "const Format = 1\n", "const Format = 2\n", 1)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: filepath.Join(dir, "format.go")}})
	if err != nil || changed == string(source) {
		t.Fatal("the format is not where it was", err)
	}
	for name, text := range map[string]string{"format.go": changed, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	now, next := servers.Program(t, servers.Snowfence), filepath.Join(dir, "snowfence")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", next, servers.Snowfence)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	store := "sqlite:" + filepath.Join(dir, "ids.db")
	serve := func(path, label string) *servers.Process {
		web := servers.Address(servers.Ports(t, 1)[0])
		p := servers.Start(t, label, path, []string{
			"serve", "--store", store, "--http", web, "--resp", "", "--label", label,
		}, nil)
		p.Ready(t, func() error {
			resp, err := http.Get("http://" + web + "/v1/default/next")
			if err != nil {
				return err
			}
			return resp.Body.Close()
		})
		return p
	}
	refused := func(path string, want ...string) {
		t.Helper()
		for _, args := range [][]string{{"serve", "--http", "127.0.0.1:0", "--resp", ""}, {"new"}} {
			out, err := exec.CommandContext(t.Context(), path, append(args, "--store", store)...).CombinedOutput()
			if err == nil {
				t.Errorf("%s is not refused: %s", args, out)
			}
			for _, text := range want {
				if !strings.Contains(string(out), text) {
					t.Errorf("%s does not say %q: %s", args, text, out)
				}
			}
		}
	}
	old := serve(now, "of-today")
	refused(next, `"of-today"`, "stop all programs of that version")
	old.Stop(t, syscall.SIGTERM)
	later := serve(next, "of-tomorrow")
	refused(now, "format 2", "start one of the version that the others have")
	later.Stop(t, syscall.SIGTERM)
	refused(now, "format 2")
}
