package native

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// The lines of the page run in other runtimes, and the worker that it names
// in the one of Cloudflare, here over several renewals.
func TestRuntimes(t *testing.T) {
	links(t, "node.md", "runtimes", "worker.js")
	servers.Later(t)
	t.Parallel()
	dir, url, app := build(t), serve(t, t.TempDir()), copied(t, "testdata/runtimes")
	run(t, dir, "npm pack --ignore-scripts --pack-destination "+app)
	run(t, app, "npm ci && npm install --no-save ./snowfence-*.tgz")
	page, err := os.ReadFile(root + "/docs/start/node.md")
	must(t, err)
	worker, err := os.ReadFile(filepath.Join(app, "worker.js"))
	must(t, err)
	var tools struct{ Dependencies struct{ Bun, Deno string } }
	text, err := os.ReadFile(filepath.Join(app, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &tools)
	}
	said := fmt.Sprintf("Deno %s and Bun %s", tools.Dependencies.Deno, tools.Dependencies.Bun)
	if err != nil || !strings.Contains(string(page), said) {
		t.Errorf("the page does not say %q: %v", said, err)
	}
	write(t, app, map[string]string{
		"main.mjs":  block(t, "node.md", "Make IDs", url),
		"worker.js": strings.Replace(string(worker), "env.SERVER)", "env.SERVER, { ttl: 3 })", 1),
	})
	for _, line := range []string{"deno run --allow-net main.mjs", "bun main.mjs"} {
		t.Log(run(t, app, "npx --no-install "+line))
	}

	address := servers.Address(servers.Ports(t, 1)[0])
	write(t, app, map[string]string{"config.capnp": workerdConfig(t, dir, url, address)})
	program := strings.TrimSpace(run(t, app, "ls $PWD/node_modules/@cloudflare/workerd-*/bin/workerd"))
	w := servers.Start(t, "workerd", program, []string{"serve", filepath.Join(app, "config.capnp")}, nil)
	var made []string
	ask := func() error {
		text, err := servers.Get(t.Context(), "http://"+address)
		if err == nil {
			made = append(made, strings.Fields(text)...)
		}
		return err
	}
	w.Ready(t, ask)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		must(t, ask())
	}
	seen := map[string]bool{}
	for _, id := range made {
		seen[id] = true
	}
	if len(seen) != len(made) || len(seen)%4 != 0 {
		t.Errorf("%d of %d IDs differ", len(seen), len(made))
	}
	t.Logf("workerd: %d IDs", len(made))
}

// workerdConfig serves worker.js at an address, with the modules of the
// package.
func workerdConfig(t *testing.T, dir, server, address string) string {
	t.Helper()
	modules, err := filepath.Glob(filepath.Join(dir, "dist/esm/*.js"))
	must(t, err)
	var list strings.Builder
	for _, m := range modules {
		name := filepath.Base(m)
		if name == "index.js" {
			name = "snowfence"
		}
		file := "node_modules/snowfence/dist/esm/" + filepath.Base(m)
		fmt.Fprintf(&list, "(name = %q, esModule = embed %q), ", name, file)
	}
	return fmt.Sprintf(`using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["private"]))],
  sockets = [(name = "http", address = %q, http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js"), %s],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "SERVER", text = %q), (name = "IDS", durableObjectNamespace = "Ids")],
  durableObjectNamespaces = [(className = "Ids", uniqueKey = "ids")],
  durableObjectStorage = (inMemory = void),
);
`, address, list.String(), server)
}

// A page in Chromium, and a worker of it, acquire, renew, lose and acquire
// again, through a proxy that gives the server the origin of the page.
// Another origin does not reach it.
func TestBrowser(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	chromium := servers.Need(t, "chromium", "chromium")[0]
	server := serve(t, t.TempDir())
	target, err := url.Parse(server)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var acquired, renewed atomic.Int64
	results := make(chan string)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(os.DirFS("testdata/browser")))
	mux.Handle("/esm/", http.StripPrefix("/esm/", http.FileServerFS(os.DirFS(filepath.Join(build(t), "dist/esm")))))
	mux.Handle("/v1/", proxy)
	mux.HandleFunc("/snowfence.v1.LeaseService/", func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		switch path.Base(r.URL.Path) {
		case "Acquire":
			acquired.Add(1)
		case "Renew":
			renewed.Add(1)
		}
	})
	mux.HandleFunc("/counts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"Acquire": %d, "Renew": %d}`, acquired.Load(), renewed.Load())
	})
	mux.HandleFunc("/result", func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		results <- fmt.Sprint(r.FormValue("who"), ": ", string(text), err)
	})
	site := httptest.NewServer(mux)
	defer site.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", site.URL+"?other="+server)
	must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }() // it is killed
	defer cancel()
	for range 2 {
		select {
		case text := <-results:
			t.Log(text)
			if !strings.Contains(text, ": ok,") {
				t.Error(text)
			}
		case <-ctx.Done():
			t.Fatal("the page says nothing")
		}
	}
}
