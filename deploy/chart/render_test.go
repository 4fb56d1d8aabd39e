// Package chart has the tests of the Helm chart in the folder snowfence. It
// is a module of its own, outside of go.work, because Helm brings 170
// modules: make prove PART=chart runs it.
package chart

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	chartDir  = "snowfence"
	manifests = "../kubernetes/snowfence.yaml"
	notes     = "NOTES.txt"
)

// values is what a person writes in a file of values.
type values = map[string]any

// object is a document in YAML, as JSON has it: no types yet.
type object = map[string]any

// everything turns on each part that is off by default.
const everything = `
replicas: 3
image: {repository: registry.example/snowfence, tag: v0.1.0, pullPolicy: IfNotPresent, pullSecrets: [registry]}
store: {secret: ids-app, key: uri}
tls: {secret: ids-tls, clientCertificates: true}
tokens: {secret: ids-tokens}
namespaces:
  - {name: users, args: [--layout, randflake, --secret-file, /etc/snowfence/secrets/users.key]}
  - {name: orders, args: [--layout, randflake, --secret-file, /etc/snowfence/secrets/old.key]}
encrypted:
  secret: ids-secrets
  namespaces: {users: [users.key], orders: [old.key, new.key]}
settings: {ready-for: [default, users], ttl: 30s, drain: 5s, hand-out-secrets: true}
resources: {limits: {memory: 1Gi}}
goMemoryLimit: 900MiB
service: {type: LoadBalancer, annotations: {example.com/internal: "true"}}
podDisruptionBudget: {minAvailable: 50%}
networkPolicy: {prometheus: {team: observers}, storePorts: [5432, 6432], egress: [{ports: [{port: 4318}]}]}
serviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}
podLabels: {team: ids}
podAnnotations: {example.com/logs: json}
nodeSelector: {kubernetes.io/arch: amd64}
tolerations: [{key: dedicated, operator: Exists}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]
priorityClassName: important
env: [{name: PGPASSFILE, value: "/etc/pgpass"}]
volumes: [{name: store-ca, configMap: {name: store-ca}}]
volumeMounts: [{name: store-ca, mountPath: /etc/store-ca, readOnly: true}]
`

func parse(t *testing.T, text string) values {
	t.Helper()
	v := values{}
	if err := sigsyaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// render returns the text of each template as helm install would have it.
func render(release string, v values) (map[string]string, error) {
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, err
	}
	in := chartutil.ReleaseOptions{Name: release, Namespace: "ids", Revision: 1, IsInstall: true}
	top, err := chartutil.ToRenderValues(c, v, in, nil)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Engine{Strict: true}.Render(c, top)
	if err != nil {
		return nil, err
	}
	byFile := map[string]string{}
	for name, text := range texts {
		byFile[path.Base(name)] = text
	}
	return byFile, nil
}

// objects are the objects of a release, by kind and name.
func objects(t *testing.T, release string, v values) map[string]object {
	t.Helper()
	texts := must(render(release, v))
	found := map[string]object{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Ext(name) == ".yaml" {
			maps.Copy(found, decode(t, []byte(texts[name])))
		}
	}
	return found
}

func decode(t *testing.T, text []byte) map[string]object {
	t.Helper()
	found := map[string]object{}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if o == nil {
			continue
		}
		id := at[string](t, o, "kind") + "/" + at[string](t, o, "metadata.name")
		if found[id] != nil {
			t.Errorf("two objects are %s", id)
		}
		found[id] = o
	}
}

// at returns what stands at a path of names and indices, which must be
// there.
func at[T any](t *testing.T, in any, where string) T {
	t.Helper()
	for step := range strings.SplitSeq(where, ".") {
		switch x := in.(type) {
		case map[string]any:
			in = x[step]
		case []any:
			if step != "0" || len(x) == 0 {
				t.Fatalf("no %s in %v", where, x)
			}
			in = x[0]
		}
	}
	got, ok := in.(T)
	if !ok {
		t.Fatalf("%s is %#v", where, in)
	}
	return got
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	return must(os.ReadFile(file))
}
