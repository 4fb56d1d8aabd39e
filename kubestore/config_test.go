package kubestore

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	noError(t, os.WriteFile(path, []byte(text), 0o600))
}

// A pod's token is read anew for each request, because Kubernetes replaces
// it every hour.
func TestInCluster(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "https://"), ":")
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which should say %q", err, want)
		}
	}
	_, err := inCluster(func(string) string { return "" }, dir)
	says(err, "name a kubeconfig file")
	_, err = inCluster(func(n string) string { return env[n] }, dir)
	says(err, "automountServiceAccountToken")
	write(t, filepath.Join(dir, "ca.crt"), string(s.config().CA))
	write(t, filepath.Join(dir, "namespace"), "ids\n")
	write(t, filepath.Join(dir, "token"), "old\n")
	c := must(inCluster(func(n string) string { return env[n] }, dir))
	st := must(New(c, nil))
	says(swap(t, st, "", record("a")), "401")
	write(t, filepath.Join(dir, "token"), "token\n")
	noError(t, swap(t, st, "", record("a")))
}

// Each way of a kubeconfig to name certificates and tokens that is read
// leads to the server.
func TestKubeconfig(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	ca := s.config().CA
	write(t, filepath.Join(dir, "ca.pem"), string(ca))
	write(t, filepath.Join(dir, "token"), "token\n")
	data := base64.StdEncoding.EncodeToString(ca)
	for i, c := range []struct{ cluster, user, want string }{
		{"certificate-authority-data: " + data, "token: token", ""},
		{"certificate-authority: ca.pem", "tokenFile: token", ""},
		{"certificate-authority: " + dir + "/ca.pem", "token: other", "401"},
		{"insecure-skip-tls-verify: true", "token: token", "give the certificate-authority"},
		{"proxy-url: http://proxy", "token: token", "proxy-url are not supported"},
		{"certificate-authority: none.pem", "token: token", "no such file"},
		{"certificate-authority: token", "token: token", "no certificate in PEM"},
		{"certificate-authority: ca.pem", "exec: {command: aws}", "kubectl create token"},
		{"certificate-authority: ca.pem", "username: me", "kubectl create token"},
		{"certificate-authority: ca.pem", "client-certificate: ca.pem, client-key: token", "tls:"},
	} {
		path := filepath.Join(dir, fmt.Sprint("config", i))
		write(t, path, fmt.Sprintf(`
current-context: c
contexts: [{name: other, context: {cluster: none, user: none}}, {name: c, context: {cluster: k, user: u, namespace: ids}}]
clusters: [{name: k, cluster: {server: "%s", %s}}]
users: [{name: u, user: {%s}}]
`, s.URL, c.cluster, c.user))
		config, err := Kubeconfig(path)
		var st *Store
		if err == nil {
			st, err = New(config, nil)
		}
		if err == nil {
			_, _, err = st.Get(t.Context(), []store.Key{record("").Key})
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, which should say %q", c.cluster, c.user, err, c.want)
		}
	}
	empty := filepath.Join(dir, "empty")
	write(t, empty, "{}")
	if _, err := Kubeconfig(empty); err == nil || !strings.Contains(err.Error(), "names no cluster") {
		t.Error(err)
	}
}
