package kubernetes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// applied is what the test needs of the manifests.
type applied struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Replicas int
		Template struct {
			Spec struct {
				Account    string `yaml:"serviceAccountName"`
				Containers []struct {
					Args []string
					Env  []struct{ Name, Value string }
				}
			}
		}
	}
}

// A cluster needs no database: the manifests, which a test of the chart
// compares with what Helm makes by default, are applied to an API server,
// and the program runs as the pods would: with their arguments,
// environment, settings and service account. It makes IDs, none twice.
func TestManifestsNeedNoDatabase(t *testing.T) {
	k := servers.StartKubernetes(t)
	const namespace = "ids" // which the manifests name
	must(t, k.Ask("POST", "/api/v1/namespaces", `{"metadata": {"name": "ids"}}`, nil))
	var settings string
	var pods applied
	for _, o := range apply(t, k, namespace) {
		switch o.Kind {
		case "ConfigMap":
			settings = o.Data["serve.yaml"]
		case "Deployment":
			pods = o
		}
	}
	seen := map[string]bool{}
	for i := range pods.Spec.Replicas {
		address := pod(t, k, namespace, fmt.Sprint("snowfence-", i), &pods, settings)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: k.Certs.Client()}}
		defer client.CloseIdleConnections()
		fleet.Eventually(t, "the pod makes IDs", func() error {
			ids, err := next(client, "https://"+address+"/v1/default/next?n=1000")
			for _, id := range ids {
				if seen[id] {
					t.Fatalf("%s came twice", id)
				}
				seen[id] = true
			}
			return err
		})
	}
	if len(seen) != 1000*pods.Spec.Replicas {
		t.Errorf("%d IDs", len(seen))
	}
	var leases bytes.Buffer
	path := "/apis/coordination.k8s.io/v1/namespaces/ids/leases?labelSelector=snowfence/namespace=default"
	must(t, k.Ask("GET", path, "", &leases))
	for i := range pods.Spec.Replicas {
		if want := fmt.Sprintf(`"holderIdentity":"snowfence-%d"`, i); !strings.Contains(leases.String(), want) {
			t.Errorf("no Lease has %s: %s", want, leases.String())
		}
	}
}

// apply makes the objects of the manifests.
func apply(t *testing.T, k *servers.Kubernetes, namespace string) (all []applied) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/kubernetes/snowfence.yaml")
	must(t, err)
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var o applied
		var whole map[string]any
		for _, into := range []any{&o, &whole} {
			must(t, yaml.Unmarshal([]byte(part), into))
		}
		body, err := json.Marshal(whole)
		must(t, err)
		group, kinds := "/api/v1", strings.ToLower(o.Kind)+"s"
		if version := whole["apiVersion"].(string); version != "v1" {
			group = "/apis/" + version
		}
		if o.Kind == "NetworkPolicy" {
			kinds = "networkpolicies"
		}
		must(t, k.Ask("POST", group+"/namespaces/"+namespace+"/"+kinds, string(body), nil))
		all = append(all, o)
	}
	return all
}

// pod runs the program as a pod of the Deployment, in a mount namespace
// with the files of its service account, and returns its address. Its other
// files, and its ports, are elsewhere, because two pods share this machine.
func pod(t *testing.T, k *servers.Kubernetes, namespace, name string, o *applied, settings string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(file, text string) {
		path := filepath.Join(dir, file)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var token bytes.Buffer
	account := o.Spec.Template.Spec.Account
	must(t, k.Ask("POST", "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}`,
		&token))
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(token.Bytes(), &request); err != nil || request.Status.Token == "" {
		t.Fatal(err, token.String())
	}
	write("account/token", request.Status.Token)
	write("account/namespace", namespace)
	for file, from := range map[string]string{
		"account/ca.crt": k.Certs.CA, "tls/tls.crt": k.Certs.Cert, "tls/tls.key": k.Certs.Key,
	} {
		text, err := os.ReadFile(from)
		must(t, err)
		write(file, string(text))
	}
	write("tokens/tokens.yaml", fmt.Sprintf("tokens:\n- {name: shop, sha256: %x, verbs: [ids]}\n",
		sha256.Sum256([]byte("shop"))))
	ports := servers.Ports(t, 3)
	for i, port := range []string{"8443", "6380", "9090"} {
		settings = strings.Replace(settings, "0.0.0.0:"+port, servers.Address(ports[i]), 1)
	}
	write("serve.yaml", strings.ReplaceAll(settings, "/etc/snowfence", dir))
	env := []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + strconv.Itoa(k.Port)}
	container := o.Spec.Template.Spec.Containers[0]
	for _, e := range container.Env {
		switch e.Name {
		case "SNOWFENCE_LABEL":
			e.Value = name // metadata.name
		case "SNOWFENCE_ADVERTISE":
			e.Value = servers.Address(ports[0]) // of the pod
		}
		env = append(env, e.Name+"="+e.Value)
	}
	args := []string{"--mount", "--map-root-user", "sh", "-euc", `mount -t tmpfs none /run
		mkdir -p /run/secrets/kubernetes.io && cp -r "$1" /run/secrets/kubernetes.io/serviceaccount
		shift && exec "$@"`, name, filepath.Join(dir, "account"), servers.Program(t, servers.Snowfence)}
	for _, arg := range container.Args {
		args = append(args, strings.ReplaceAll(arg, "/etc/snowfence", dir))
	}
	servers.Start(t, name, servers.Need(t, "util-linux", "unshare")[0], args, env)
	return servers.Address(ports[0])
}

// next asks for IDs, one a line.
func next(client *http.Client, url string) ([]string, error) {
	_, text, err := servers.Ask(context.Background(), client, http.MethodGet, url, "",
		"Authorization: Bearer shop", "Accept: text/plain")
	return strings.Fields(text), err
}
