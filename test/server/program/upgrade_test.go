package program

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestUpgrade does what docs/operate/upgrade.md says, forth and back, with
// a program of the next format: programs of both versions run over one
// store, and no ID comes twice. Only who asks the agent for IDs sees
// errors. The way back ends when the later one has changed the namespace.
func TestUpgrade(t *testing.T) {
	servers.Later(t)
	now, next := servers.Program(t, servers.Snowfence), nextProgram(t)
	dir, err := os.MkdirTemp("", "up") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	store := "sqlite:" + dir + "/ids.db"
	ports := servers.Ports(t, 2)
	urls := []string{"http://" + servers.Address(ports[0]), "http://" + servers.Address(ports[1])}
	serve := func(path string, i int) *servers.Process {
		p := servers.Start(t, "server", path, []string{
			"serve", "--store", store, "--http", urls[i][7:], "--resp", "", "--label", urls[i][7:],
		}, nil)
		p.Ready(t, func() error { return answers(urls[i]+"/readyz", http.StatusOK, "ok") })
		return p
	}
	agent := func(path string) *servers.Process {
		p := servers.Start(t, "agent", path, []string{
			"agent", "--store", strings.Join(urls, ","), "--http", "unix:" + dir + "/agent",
		}, nil)
		p.Ready(t, func() error {
			_, err := os.Stat(dir + "/agent")
			return err
		})
		return p
	}
	roles := []*servers.Process{serve(now, 0), serve(now, 1), agent(now)}

	c := &fleet.Callers{TB: t}
	load, stop := context.WithCancel(t.Context())
	defer c.Wait()
	defer stop()
	local := []string{"unix:" + dir + "/agent"}
	for _, urls := range [][]string{urls, local} {
		ids, err := dial(t, urls...).Open(t.Context(), &lease.Options{Namespace: "default"})
		must(t, err)
		t.Cleanup(func() { _ = ids.Close() })
		c.Ask(load, fleet.One(ids.Next))
		src, err := dial(t, urls...).Source("default", nil)
		must(t, err)
		t.Cleanup(func() { _ = src.Close() })
		c.Ask(load, fleet.One(func(ctx context.Context) (id snowfence.ID, err error) {
			for id, err = src.Next(ctx); &urls[0] == &local[0] && err != nil && ctx.Err() == nil; {
				id, err = src.Next(ctx) // the agent is being replaced
			}
			return id, err
		}))
	}
	replace := func(i int, path string) {
		roles[i].Stop(t, syscall.SIGTERM)
		if i < 2 {
			roles[i] = serve(path, i)
		} else {
			roles[i] = agent(path)
		}
		c.GoOn("IDs go on after a replacement")
	}
	c.GoOn("IDs come")
	for i := range roles {
		replace(i, next)
	}
	for i := range roles {
		replace(len(roles)-1-i, now)
	}
	stop()
	c.Wait()

	tests.Run(t, exec.CommandContext(t.Context(), next, "namespace", "change", "default", "--max-ttl", "20s", "--store",
		store))
	out, err := exec.CommandContext(t.Context(), now, "new", "--store", store).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "format 2") {
		t.Errorf("after a change by a later program: %v, %s", err, out)
	}
}

// nextProgram builds a program whose format is one later.
func nextProgram(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../../lease/store/text.go")
	must(t, err)
	source, err := os.ReadFile(file)
	must(t, err)
	dir := t.TempDir()
	changed := strings.Replace(string(source), "const Format = 1\n", "const Format = 2\n", 1)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: filepath.Join(dir, "format.go")}})
	if err != nil || changed == string(source) {
		t.Fatal("the format is not where it was", err)
	}
	for name, text := range map[string]string{"format.go": changed, "overlay.json": string(overlay)} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	path := filepath.Join(dir, "snowfence")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path,
		servers.Snowfence)
	tests.Run(t, build)
	return path
}

func dial(t *testing.T, urls ...string) *remote.Client {
	t.Helper()
	c, err := remote.Dial(urls, nil)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
