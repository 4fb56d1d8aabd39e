// Package kubernetes runs kubestore over a real API server and etcd. It is a module of its own,
// outside of go.work, because to build an API server takes ten minutes of processor time.
package kubernetes

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/snowfence/snowfence/kubestore"
)

// asServer makes the program of this test an API server with the arguments that it gets.
const asServer = "SNOWFENCE_TEST_API_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	}
	os.Exit(m.Run())
}

// cluster is an API server over an etcd, with data in a folder of its own. The token "admin" may do
// everything, and the token "pod" what a Role lets it.
type cluster struct {
	t       testing.TB
	dir     string
	etcd    *exec.Cmd
	api     *exec.Cmd
	ports   [3]int // of etcd for clients and for members, and of the API server
	certs   string
	created atomic.Int32
}

func start(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	for i := range c.ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c.ports[i] = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	c.write("account.key", string(pem.EncodeToMemory(block)))
	c.write("tokens.csv", "admin,admin,admin,\"system:masters\"\npod,pod,pod\n")
	t.Cleanup(c.kill)
	c.up()
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// up starts both, and waits until the API server is ready.
func (c *cluster) up() {
	c.t.Helper()
	clients, members := fmt.Sprintf("http://127.0.0.1:%d", c.ports[0]), fmt.Sprintf("http://127.0.0.1:%d", c.ports[1])
	c.etcd = c.run("etcd", exec.Command("etcd", "--data-dir", c.path("etcd"),
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", members, "--initial-advertise-peer-urls", members, "--initial-cluster", "default="+members))
	c.startAPI()
}

func (c *cluster) startAPI() {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self, "--etcd-servers", fmt.Sprintf("http://127.0.0.1:%d", c.ports[0]),
		"--cert-dir", c.path("certs"), "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(c.ports[2]),
		"--token-auth-file", c.path("tokens.csv"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", c.path("account.key"),
		"--service-account-signing-key-file", c.path("account.key"), "--service-cluster-ip-range", "10.0.0.0/24",
		"--disable-admission-plugins", "ServiceAccount")
	cmd.Env = append(os.Environ(), asServer+"=1")
	c.api = c.run("api", cmd)
	c.eventually("the API server is ready", func() error { return c.ask("GET", "/readyz", "") })
}

// run starts a program, whose output the test shows if it fails.
func (c *cluster) run(name string, cmd *exec.Cmd) *exec.Cmd {
	c.t.Helper()
	log, err := os.OpenFile(c.path(name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

func (c *cluster) killAPI() {
	_ = c.api.Process.Kill() // it may have ended
	_ = c.api.Wait()
}

func (c *cluster) kill() {
	c.killAPI()
	_ = c.etcd.Process.Kill()
	_ = c.etcd.Wait()
	if c.t.Failed() {
		for _, name := range []string{"etcd.log", "api.log"} {
			text, err := os.ReadFile(c.path(name))
			c.t.Logf("%s (%v):\n%s", name, err, text[max(0, len(text)-3000):])
		}
	}
}

// eventually waits until do has no error.
func (c *cluster) eventually(what string, do func() error) {
	c.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s: %v", what, err)
		}
	}
}

// ask sends a request as the administrator.
func (c *cluster) ask(method, path, body string) error {
	config := c.config("admin", "")
	tlsConfig, err := tlsOf(config)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(method, config.Server+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer admin")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text.String())
	}
	return err
}

// config is the configuration of a token in a namespace.
func (c *cluster) config(token, namespace string) *kubestore.Config {
	ca, _ := os.ReadFile(c.path("certs/apiserver.crt")) // it is there once the server is up
	return &kubestore.Config{
		Server: fmt.Sprintf("https://127.0.0.1:%d", c.ports[2]), Namespace: namespace, CA: ca,
		Token: func() (string, error) { return token, nil },
	}
}

// namespace makes an empty one.
func (c *cluster) namespace() string {
	c.t.Helper()
	name := fmt.Sprintf("ids-%d", c.created.Add(1))
	if err := c.ask("POST", "/api/v1/namespaces", `{"metadata": {"name": "`+name+`"}}`); err != nil {
		c.t.Fatal(err)
	}
	return name
}
