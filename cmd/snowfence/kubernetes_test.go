package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is what the tests need of an object of Kubernetes.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		ClusterIP   string         `yaml:"clusterIP"`
		Selector    map[string]any `yaml:"selector"`
		PodSelector labels         `yaml:"podSelector"`
		PolicyTypes []string       `yaml:"policyTypes"`
		Egress      []struct{ Ports []struct{ Port int } }
		Template    struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     struct {
				Containers []struct {
					Name         string
					Args         []string
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
						ReadOnly  bool   `yaml:"readOnly"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name   string
					Secret struct {
						SecretName string `yaml:"secretName"`
						Optional   bool
					}
				}
			}
		}
	}
}

type labels struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

// match reports whether a selector selects labels.
func match[V any](selector map[string]V, labels map[string]string) bool {
	for k, v := range selector {
		if any(v) != any(labels[k]) {
			return false
		}
	}
	return len(selector) > 0
}

// A change of the settings reached no pod; gRPC clients stayed on one of them; nothing made the
// namespaces; a pod could reach every address; and secrets had no place.
func TestManifestsOfKubernetes(t *testing.T) {
	data, err := os.ReadFile("../../deploy/kubernetes/snowfence.yaml")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]manifest{}
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var m manifest
		if d.Decode(&m) != nil {
			break
		}
		have[m.Kind+"/"+m.Metadata.Name] = m
	}
	want := []string{
		"ConfigMap/snowfence", "Deployment/snowfence", "Job/snowfence-namespaces", "NetworkPolicy/snowfence",
		"NetworkPolicy/snowfence-egress", "PodDisruptionBudget/snowfence", "Service/snowfence", "Service/snowfence-headless",
	}
	if got := slices.Sorted(maps.Keys(have)); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	settings := have["ConfigMap/snowfence"].Data["serve.yaml"]
	pod, job := have["Deployment/snowfence"].Spec.Template, have["Job/snowfence-namespaces"].Spec.Template
	sum := sha256.Sum256([]byte(settings))
	if got, want := pod.Metadata.Annotations["checksum/config"], hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the settings have the checksum %s, the annotation says %s", want, got)
	}
	for _, name := range []string{"Service/snowfence", "Service/snowfence-headless"} {
		s := have[name].Spec.Selector
		if !match(s, pod.Metadata.Labels) || match(s, job.Metadata.Labels) {
			t.Errorf("%s selects %v", name, s)
		}
	}
	if ip := have["Service/snowfence-headless"].Spec.ClusterIP; ip != "None" {
		t.Errorf("the headless service has the address %q", ip)
	}
	ingress, egress := have["NetworkPolicy/snowfence"].Spec, have["NetworkPolicy/snowfence-egress"].Spec
	in, out := ingress.PodSelector.MatchLabels, egress.PodSelector.MatchLabels
	if !match(in, pod.Metadata.Labels) || !match(out, pod.Metadata.Labels) || !match(out, job.Metadata.Labels) ||
		!slices.Equal(egress.PolicyTypes, []string{"Egress"}) {
		t.Errorf("the policies select %v and %v, for %v", in, out, egress.PolicyTypes)
	}
	ports := map[int]bool{}
	for _, e := range egress.Egress {
		for _, p := range e.Ports {
			ports[p.Port] = true
		}
	}
	if !maps.Equal(ports, map[int]bool{53: true, 5432: true}) {
		t.Errorf("pods may reach the ports %v", ports)
	}
	// What the job makes is what the servers wait for, and the default, which they make.
	made := []string{"default"}
	for _, c := range job.Spec.Containers {
		cmd, rest, err := newProgram(nil, nil, nil, nil).root().Find(c.Args)
		if err != nil || cmd.CommandPath() != "snowfence namespace create" || cmd.ParseFlags(rest) != nil ||
			cmd.Flags().NArg() != 1 {
			t.Errorf("the job runs %q: %v", c.Args, err)
			continue
		}
		made = append(made, cmd.Flags().Arg(0))
	}
	if want := "ready-for: [" + strings.Join(made, ", ") + "]\n"; !strings.Contains(settings, want) {
		t.Errorf("the job and the servers make %q, the settings are\n%s", made, settings)
	}
	for name, p := range map[string]struct{ mounts, files []string }{
		"job": {mounts: []string{"/etc/snowfence/secrets"}},
		"pod": {files: []string{
			"/etc/snowfence/tls/tls.crt", "/etc/snowfence/tls/tls.key", "/etc/snowfence/tokens/tokens.yaml",
			"/etc/snowfence/secrets/users.key",
		}},
	} {
		spec := pod.Spec
		if name == "job" {
			spec = job.Spec
		}
		volumes, mounted := map[string]bool{}, map[string]bool{}
		for _, v := range spec.Volumes {
			volumes[v.Name] = true
			if v.Name == "secrets" && (v.Secret.SecretName != "snowfence-secrets" || !v.Secret.Optional) {
				t.Errorf("%s: a cluster without encrypted namespaces has no secrets: %+v", name, v)
			}
		}
		for _, m := range spec.Containers[0].VolumeMounts {
			if !volumes[m.Name] || !m.ReadOnly {
				t.Errorf("%s: the mount %+v", name, m)
			}
			mounted[m.MountPath] = true
		}
		for _, file := range p.files {
			if !mounted[path.Dir(file)] || !strings.Contains(settings, file) {
				t.Errorf("%s: %s is not mounted, or not in the settings", name, file)
			}
		}
		for _, folder := range p.mounts {
			if !mounted[folder] {
				t.Errorf("%s: %s is not mounted", name, folder)
			}
		}
	}
}
