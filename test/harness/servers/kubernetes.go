package servers

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Kubernetes is an API server over an etcd. The token "admin" may do
// everything, and the token "pod" the calls of its Role.
type Kubernetes struct {
	*Process // the API server
	Etcd     *Etcd
	Certs    *Certs
	Port     int

	dir     string
	objects atomic.Int32
	admin   *http.Client
}

// StartKubernetes starts an API server and its etcd. It leaves the test to
// make full, because the first time on a machine it builds the API server,
// for ten minutes of processor time.
func StartKubernetes(t testing.TB) *Kubernetes {
	t.Helper()
	Later(t)
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "testdata/apiserver")
	program := build(t, "apiserver", ".", []string{"GOWORK=off"}, "-C", folder)
	k := &Kubernetes{Etcd: StartEtcd(t), Certs: NewCerts(t), Port: Ports(t, 1)[0], dir: t.TempDir()}
	k.admin = &http.Client{Transport: &http.Transport{TLSClientConfig: k.Certs.Client()}, Timeout: 10 * time.Second}
	t.Cleanup(k.admin.CloseIdleConnections)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	account := k.writeFile(t, "account.key", string(block))
	tokens := k.writeFile(t, "tokens.csv", "admin,admin,admin,\"system:masters\"\npod,pod,pod\n")
	k.Process = Start(t, "apiserver", program, []string{
		"--etcd-servers", k.Etcd.URL(), "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(k.Port),
		"--cert-dir", filepath.Join(k.dir, "certs"),
		"--tls-cert-file", k.Certs.Cert, "--tls-private-key-file", k.Certs.Key,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", account,
		"--service-account-signing-key-file", account, "--service-cluster-ip-range", "10.0.0.0/24",
		"--disable-admission-plugins", "ServiceAccount",
	}, nil)
	k.Up(t)
	return k
}

// Address is where the API server listens.
func (k *Kubernetes) Address() string { return Address(k.Port) }

// Up waits until the API server answers.
func (k *Kubernetes) Up(t testing.TB) {
	t.Helper()
	k.Ready(t, func() error { return k.Ask("GET", "/readyz", "", nil) })
}

// Down kills the API server, and then its etcd.
func (k *Kubernetes) Down() {
	k.Kill()
	k.Etcd.Kill()
}

// Again starts both after Down.
func (k *Kubernetes) Again(t testing.TB) {
	t.Helper()
	k.Etcd.Restart(t)
	k.Etcd.AwaitHealthy(t)
	k.Restart(t)
	k.Up(t)
}

func (k *Kubernetes) writeFile(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(k.dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Ask sends a request as the administrator, and stores the answer if that
// is not nil.
func (k *Kubernetes) Ask(method, path, body string, answer *bytes.Buffer) error {
	_, text, err := Ask(context.Background(), k.admin, method, "https://"+k.Address()+path, body,
		"Authorization: Bearer admin", "Content-Type: application/json")
	if err != nil {
		err = fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer != nil {
		answer.Reset()
		answer.WriteString(text)
	}
	return err
}

// NewNamespace makes an empty namespace, and returns its name.
func (k *Kubernetes) NewNamespace(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("ids-%d", k.objects.Add(1))
	must(t, k.Ask("POST", "/api/v1/namespaces", `{"metadata": {"name": "`+name+`"}}`, nil))
	return name
}

// Kubeconfig writes a file for the API server at an address, with a token.
func (k *Kubernetes) Kubeconfig(t testing.TB, address, token string) (path string) {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	return k.writeFile(t, token+"."+port, fmt.Sprintf(`current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: it, user: {token: %s}}]
`, address, k.Certs.CA, token))
}

// URL is a namespace as programs of the administrator name it, with the API
// server at an address.
func (k *Kubernetes) URL(t testing.TB, address, namespace string) string {
	t.Helper()
	return "kubernetes:///" + namespace + "?kubeconfig=" + k.Kubeconfig(t, address, "admin")
}
