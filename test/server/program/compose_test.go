package program

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
	"go.yaml.in/yaml/v3"
)

// composed is what the test needs of the file of the two servers.
type composed struct {
	Services map[string]struct {
		Image, Hostname string
		Command         []string
		Environment     map[string]string
		Ports           []string
		Secrets         []string
		Configs         []struct{ Source, Target string }
		Healthcheck     struct{ Test []string }
	}
	Configs, Secrets map[string]struct{ File string }
}

// TestComposeFile starts what the compose file says as processes of this
// machine, in its order: it makes the files by the commands at its top,
// starts both servers, and asks their health checks. The store is
// PostgreSQL, and in short form a file of SQLite.
func TestComposeFile(t *testing.T) {
	const folder = "../../../deploy/compose"
	data, err := os.ReadFile(folder + "/compose.yaml")
	must(t, err)
	var c composed
	must(t, yaml.Unmarshal(data, &c))
	path := servers.Program(t, servers.Snowfence)
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
	defer cancel()
	dir := t.TempDir()
	var token string
	for _, m := range regexp.MustCompile(`(?m)^#\t((?:.*\\\n#\t)*.*)$`).FindAllStringSubmatch(string(data), -1) {
		line := strings.ReplaceAll(m[1], "\n#\t", "\n")
		if strings.HasPrefix(line, "sudo") || strings.HasPrefix(line, "docker") {
			continue // files of containers
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		token = strings.TrimSpace(string(out)) // of the last command
	}
	for name, s := range c.Secrets {
		if _, err := os.Stat(filepath.Join(dir, s.File)); err != nil || name != s.File {
			t.Fatalf("no command makes the secret %s: %v", name, err)
		}
	}

	store := "sqlite:" + dir + "/ids.db"
	if !testing.Short() {
		pg := servers.StartPostgres(t)
		db := c.Services["db"].Environment
		pg.SQL(t, "postgres", "CREATE ROLE "+db["POSTGRES_USER"]+" LOGIN")
		pg.SQL(t, "postgres", "CREATE DATABASE "+db["POSTGRES_DB"]+" OWNER "+db["POSTGRES_USER"])
		store = strings.NewReplacer("@db/", fmt.Sprintf("@127.0.0.1:%d/", pg.Port), "/run/secrets", dir).Replace(
			c.Services["ids-1"].Environment["SNOWFENCE_STORE"])
	}
	env := []string{"SNOWFENCE_STORE=" + store, "HOME=" + dir}

	roots := x509.NewCertPool()
	if pem, err := os.ReadFile(dir + "/tls.crt"); err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
	ask := func(address, path string) (string, error) {
		_, text, err := servers.Ask(ctx, client, http.MethodGet, "https://"+address+path, "",
			"Authorization: Bearer "+token)
		return text, err
	}
	var addresses []string
	var processes []*servers.Process
	for _, name := range []string{"ids-1", "ids-2"} {
		s := c.Services[name]
		ports := servers.Ports(t, 3)
		web := servers.Address(ports[0])
		if len(s.Configs) != 1 || len(s.Ports) != 2 || s.Hostname != name {
			t.Fatalf("%s has %v, %v, %s", name, s.Configs, s.Ports, s.Hostname)
		}
		for i, p := range s.Ports { // ports of the machine differ, ports of the containers are in the settings
			if !strings.HasPrefix(p, "127.0.0.1:") || !strings.HasSuffix(p, []string{":8443", ":6380"}[i]) {
				t.Errorf("%s: %s", name, p)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s has the secret %s, which is not there", name, secret)
			}
		}
		settings, err := os.ReadFile(filepath.Join(folder, c.Configs[s.Configs[0].Source].File))
		must(t, err)
		config := filepath.Join(dir, name+".yaml")
		places := strings.NewReplacer("0.0.0.0:8443", web, "0.0.0.0:6380", servers.Address(ports[1]),
			"127.0.0.1:9090", servers.Address(ports[2]), "/run/secrets", dir, s.Configs[0].Target, config,
			"/snowfence", path)
		must(t, os.WriteFile(config, []byte(places.Replace(string(settings))), 0o600))
		args := strings.Split(places.Replace(strings.Join(s.Command, "\n")), "\n")
		if at := s.Environment["SNOWFENCE_ADVERTISE"]; at != s.Hostname+":8443" {
			t.Errorf("%s says that it is at %s", name, at)
		}
		p := servers.Start(t, name, path, args, append(slices.Clone(env), "SNOWFENCE_ADVERTISE="+web))
		check := strings.Split(places.Replace(strings.Join(s.Healthcheck.Test[1:], "\n")), "\n")
		p.Ready(t, func() error {
			out, err := exec.CommandContext(ctx, check[0], check[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%q: %w: %s", check, err, out)
			}
			_, err = ask(web, "/v1/default/next")
			return err
		})
		addresses, processes = append(addresses, web), append(processes, p)
	}

	seen := map[string]bool{}
	take := func(address string) {
		t.Helper()
		text, err := ask(address, "/v1/default/next?n=10")
		var v struct{ IDs []string }
		if err == nil {
			err = json.Unmarshal([]byte(text), &v)
		}
		if err != nil || len(v.IDs) != 10 {
			t.Fatalf("%s: %v", text, err)
		}
		for _, id := range v.IDs {
			if seen[id] {
				t.Errorf("%s twice", id)
			}
			seen[id] = true
		}
	}
	for _, address := range addresses {
		take(address)
	}
	processes[0].Ready(t, func() error { // each sees the other
		text, err := ask(addresses[0], "/v1?list=servers")
		if err == nil && strings.Count(text, `"since"`) != 2 {
			err = fmt.Errorf("not both are listed: %s", text)
		}
		return err
	})
	processes[0].Kill()
	take(addresses[1])
	processes[1].Stop(t, syscall.SIGTERM)
	if log, err := os.ReadFile(processes[1].Log); err != nil || bytes.Contains(log, []byte("level=ERROR")) {
		t.Errorf("%v\n%s", err, log)
	}
}
