// Package python tests the client in Python over a real server.
package python

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

const client = "../../../clients/python"

// serve starts a server over a new file, and returns its address.
func serve(t *testing.T) (url string) {
	t.Helper()
	return serveOver(t, t.TempDir())
}

// serveOver starts a server over a file in a folder.
func serveOver(t *testing.T, dir string, args ...string) (url string) {
	t.Helper()
	address := servers.Address(servers.Ports(t, 1)[0])
	s := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), append([]string{
		"serve", "--store", "sqlite:" + filepath.Join(dir, "ids.db"), "--http", address, "--resp", "",
	}, args...), []string{"HOME=" + dir})
	url = "http://" + address
	s.Ready(t, func() error {
		res, err := http.Get(url + "/healthz")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
	return url
}

// run runs a command in a folder, with the address of a server.
func run(t *testing.T, folder, url string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "SNOWFENCE_SERVER="+url, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}

func TestClient(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	run(t, client, serve(t), python, "-m", "unittest", "tests.test_client")
}

// A server that hands out secrets gives them to programs with a token. IDs are encrypted here as
// there.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	dir := t.TempDir()
	const token = "the-token-of-a-test"
	key, tokens := filepath.Join(dir, "users.key"), filepath.Join(dir, "tokens.yaml")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
	for name, text := range map[string]string{
		key:    "dffd6021bb2bd5b0af676290809ec3a5\n",
		tokens: "tokens:\n- name: all\n  sha256: " + sum + "\n  verbs: [read, lease]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "", "env", "HOME="+dir, servers.Program(t, servers.Snowfence), "namespace", "create", "users",
		"--layout", "randflake", "--secret-file", key, "--store", "sqlite:"+filepath.Join(dir, "ids.db"))
	url := serveOver(t, dir, "--secret", "users="+key, "--hand-out-secrets", "--tokens", tokens)
	run(t, client, url, "env", "SNOWFENCE_TOKEN="+token, python, "-m", "unittest", "tests.test_encrypted")
}

// The vectors hold, and one wrong digit in each file is noticed.
func TestVectors(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	run(t, client, "", python, "-m", "unittest", "tests.test_vectors")
	dir := t.TempDir()
	const vectors = "../../../testdata/specification"
	for name, change := range map[string][2]string{
		"layouts.json": {`"tick_ns": "10000000"`, `"tick_ns": "10000001"`},
		"ids.json":     {`"unix_ns": "1`, `"unix_ns": "2`},
		"texts.json":   {`"zbase32": "y"`, `"zbase32": "b"`},
		"ciphers.json": {`"2bbef15201f55f98"`, `"2bbef15201f55f99"`},
		"grants.json":  {`"id": "6412"`, `"id": "6413"`},
	} {
		text, err := os.ReadFile(filepath.Join(vectors, name))
		if err != nil {
			t.Fatal(err)
		}
		wrong := strings.Replace(string(text), change[0], change[1], 1)
		if wrong == string(text) {
			t.Fatalf("%s has no %s", name, change[0])
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "tests.test_vectors")
	cmd.Dir, cmd.Env = client, append(os.Environ(), "VECTORS="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "failures=5") {
		t.Errorf("wrong vectors pass\n%s", out)
	}
}

// Types are complete.
func TestTypes(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	mypy := servers.Need(t, "mypy", "mypy")[0]
	run(t, client, "", mypy, "--strict", "--exclude", "django.py", "--cache-dir="+t.TempDir(),
		"snowfence") // Django has no types
}
