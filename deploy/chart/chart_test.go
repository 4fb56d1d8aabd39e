package chart

import (
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	sigsyaml "sigs.k8s.io/yaml"
)

// By default, the chart makes the objects of the manifests, and no other.
func TestDefaultsAreTheManifests(t *testing.T) {
	want := decode(t, read(t, manifests))
	got := map[string]object{}
	for id, o := range objects(t, "snowfence", nil) {
		got[jobName.ReplaceAllString(id, "$1")] = o
	}
	if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
		t.Errorf("the chart has %v, the manifests have %v", g, w)
	}
	for id := range want {
		w, g := bare(t, want[id]), bare(t, got[id])
		if !reflect.DeepEqual(w, g) {
			t.Errorf("%s: chart\n%s\nmanifest\n%s", id, toYAML(t, g), toYAML(t, w))
		}
	}
}

// jobName is how the name of the job ends. Jobs cannot be changed: another
// one has another name.
var jobName = regexp.MustCompile(`(-namespaces)-[0-9a-f]{8}\b`)

// bare is an object without what Helm adds to each, and with the settings
// parsed, whose text is free.
func bare(t *testing.T, o object) any {
	t.Helper()
	var clean func(in any) any
	clean = func(in any) any {
		switch x := in.(type) {
		case []any:
			for i := range x {
				x[i] = clean(x[i])
			}
		case map[string]any:
			for _, label := range []string{
				"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart",
				"checksum/config",
			} {
				delete(x, label)
			}
			for k := range x {
				x[k] = clean(x[k])
			}
			for _, k := range []string{"annotations", "labels"} {
				if m, ok := x[k].(map[string]any); ok && len(m) == 0 {
					delete(x, k)
				}
			}
			if text, ok := x["serve.yaml"].(string); ok {
				x["serve.yaml"] = map[string]any(parse(t, text))
			}
		case string:
			return jobName.ReplaceAllString(x, "$1")
		}
		return in
	}
	return clean(map[string]any(o))
}

func toYAML(t *testing.T, v any) string {
	t.Helper()
	text := must(sigsyaml.Marshal(v))
	return string(text)
}

// Helm's own checks find nothing, whatever is turned on, in each Kubernetes
// that Chart.yaml allows.
func TestLint(t *testing.T) {
	for _, version := range []string{"v1.25.0", "v1.31.0", "v1.37.0"} {
		kube := must(chartutil.ParseKubeVersion(version))
		for _, v := range []values{{}, parse(t, everything)} {
			for _, m := range lint.AllWithKubeVersionAndSchemaValidation(chartDir, v, "ids", kube, false).Messages {
				if m.Severity != support.InfoSev || m.Err.Error() != "icon is recommended" {
					t.Errorf("%s: %v", version, m)
				}
			}
		}
	}
}

// Each value of values.yaml changes something, so none is a leftover or
// misspelled in a template.
func TestEachValueIsUsed(t *testing.T) {
	base := parse(t, everything)
	plain := must(render("snowfence", base))
	others := map[string]any{
		"fullnameOverride": "ids", "replicas": 5, "image.repository": "other", "image.tag": "other", "image.pullPolicy": "Always",
		"image.pullSecrets": []any{"other"}, "store.secret": "other", "store.key": "other", "tls.secret": "other",
		"tls.clientCertificates": false, "tokens.secret": "other", "encrypted.secret": "other",
		"namespaces": []any{}, "headless.enabled": false, "networkPolicy.storePorts": []any{5433}, "networkPolicy.egress": []any{},
		"encrypted.namespaces": values{"users": []any{"other"}}, "settings": values{"ttl": "20s"},
		"resources": values{"requests": values{"cpu": "1"}}, "goMemoryLimit": "1GiB",
		"service.type": "NodePort", "service.annotations": values{"other": "1"}, "podDisruptionBudget.enabled": false,
		"podDisruptionBudget.minAvailable": 2, "networkPolicy.enabled": false,
		"networkPolicy.prometheus": values{"other": "1"}, "serviceMonitor.enabled": false, "serviceMonitor.interval": "1m",
		"serviceMonitor.labels": values{"other": "1"}, "podLabels": values{"other": "1"}, "podAnnotations": values{"other": "1"},
		"nodeSelector": values{"other": "1"}, "tolerations": []any{}, "affinity": values{"podAffinity": values{}},
		"priorityClassName": "other", "env": []any{}, "volumes": []any{}, "volumeMounts": []any{},
	}
	for _, name := range names(t) {
		other, ok := others[name]
		if !ok {
			t.Errorf("this test has no other value for %s", name)
			continue
		}
		delete(others, name)
		v := parse(t, everything)
		set(v, name, other)
		got, err := render("snowfence", v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if maps.Equal(withoutHash(got), withoutHash(plain)) {
			t.Errorf("%s changes nothing", name)
		}
	}
	for name := range others {
		t.Errorf("values.yaml has no %s", name)
	}
}

// withoutHash removes the hash from names of jobs. The hash changes with
// each value.
func withoutHash(texts map[string]string) map[string]string {
	bare := map[string]string{}
	for name, text := range texts {
		bare[name] = jobName.ReplaceAllString(text, "$1")
	}
	return bare
}

// names are the values that values.yaml has; of a group, the values in it.
func names(t *testing.T) []string {
	t.Helper()
	var found []string
	for name, v := range parse(t, string(read(t, filepath.Join(chartDir, "values.yaml")))) {
		group, ok := v.(map[string]any)
		if !ok || len(group) == 0 || name == "settings" || name == "resources" {
			found = append(found, name)
			continue
		}
		for inner := range group {
			found = append(found, name+"."+inner)
		}
	}
	slices.Sort(found)
	return found
}

func set(v values, name string, to any) {
	group, inner, ok := strings.Cut(name, ".")
	if !ok {
		if old, ok := v[name].(map[string]any); ok { // Helm merges maps
			maps.Copy(old, to.(map[string]any))
			return
		}
		v[name] = to
		return
	}
	if v[group] == nil {
		v[group] = values{}
	}
	v[group].(map[string]any)[inner] = to
}

// The schema refuses what would be ignored, or would stop the pods.
func TestSchemaRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown value":        `replica: 3`,
		"an unknown inner value":  `store: {url: "postgres://db.example/ids"}`,
		"no pods":                 `replicas: 0`,
		"no wait for anybody":     `settings: {ready-for: []}`,
		"a number as a text":      `replicas: "3"`,
		"a tag that is a number":  `image: {tag: 1.5}`,
		"a setting of the chart":  `settings: {http: "0.0.0.0:80"}`,
		"a setting of the secret": `settings: {store: "postgres://db.example/ids"}`,
		"a flag":                  `settings: {--ttl: 30s}`,
		"no setting of a server":  `settings: {ttll: 30s}`,
		"a stop without an end":   `settings: {drain: forever}`,
		"a ttl in minutes":        `settings: {ttl: 1m}`,
		"another time for a stop": `terminationGracePeriodSeconds: 5`,
		"a namespace without key": `encrypted: {namespaces: {users: []}}`,
		"a key that is a path":    `encrypted: {namespaces: {users: [../tls/tls.key]}}`,
		"a name with capitals":    `tls: {secret: Snowfence}`,
		"memory as in Kubernetes": `goMemoryLimit: 450Mi`,
		"all may scrape":          `networkPolicy: {prometheus: {kubernetes.io/metadata.name: null}}`,
		"an interval in words":    `serviceMonitor: {interval: often}`,
		"a policy that is a flag": `networkPolicy: false`,
	} {
		if _, err := render("snowfence", parse(t, text)); err == nil {
			t.Errorf("%s: %s is accepted", name, text)
		}
	}
}

// A value that is taken away is refused: templates would leave out a name,
// or choose everything.
func TestNoValueIsTakenAway(t *testing.T) {
	for _, name := range names(t) {
		v := values{}
		set(v, name, nil)
		if _, err := render("snowfence", v); err == nil || !strings.Contains(err.Error(), "missing propert") {
			t.Errorf("%s: null is accepted, or refused with %v", name, err)
		}
	}
}

// The pods have the time that a stop takes, and clients for longer than a
// ttl without the store.
func TestTimeToStop(t *testing.T) {
	r := load(t, "snowfence", values{"settings": values{"ttl": "60s"}})
	settings, limit := parse(t, r.config.Data["serve.yaml"]), time.Duration(0)
	for _, name := range []string{"drain", "stop-timeout"} {
		d := must(time.ParseDuration(at[string](t, settings, name)))
		limit += d
	}
	pod := r.deployment.Spec.Template.Spec
	if got := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; got <= limit {
		t.Errorf("Kubernetes gives a stop %v, the server may take %v", got, limit)
	}
	if ready := pod.Containers[0].ReadinessProbe; ready.PeriodSeconds*ready.FailureThreshold <= 60 {
		t.Errorf("a pod that makes IDs leaves after %d failures", ready.FailureThreshold)
	}
}

// One pod has no budget, because its node could not be drained.
func TestOnePodHasNoBudget(t *testing.T) {
	if got := load(t, "snowfence", values{"replicas": 1}).budget.Name; got != "" {
		t.Errorf("one pod has the budget %s", got)
	}
}

// Two releases in one namespace have nothing in common, however long their
// names are.
func TestTwoReleases(t *testing.T) {
	first := objects(t, "snowfence", nil)
	for _, release := range []string{"ids", "snowfence-2", strings.Repeat("a", 53)} {
		second := objects(t, release, nil)
		for id := range second {
			if first[id] != nil {
				t.Errorf("%s is in both", id)
			}
			if _, name, _ := strings.Cut(id, "/"); len(name) > 63 {
				t.Errorf("%s has %d characters", name, len(name))
			}
		}
		if len(second) != len(first) {
			t.Errorf("%d objects, not %d", len(second), len(first))
		}
	}
}

// The values that the page shows are accepted, and used.
func TestValuesOfThePage(t *testing.T) {
	page := string(read(t, "../../docs/operate/kubernetes.md"))
	_, rest, ok := strings.Cut(page, "```yaml\n# values.yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the page shows no values.yaml")
	}
	r := load(t, "snowfence", parse(t, text))
	image := r.deployment.Spec.Template.Spec.Containers[0].Image
	made := len(r.job.Spec.Template.Spec.Containers)
	if r.monitor == nil || made != 2 || len(keys(r)) != 4 || image == "ghcr.io/snowfence/snowfence:v0.1.0" {
		t.Errorf("these values change too little:\n%s", text)
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
