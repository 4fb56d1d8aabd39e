package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifest is what the test needs of an object of Kubernetes.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Egress   []struct{ Ports []struct{ Port int } }
		Template struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct{ Containers []struct{ Args []string } }
		}
	}
}

// A change of the settings reached no pod, nothing made the namespaces, and a pod could reach every
// address. The rest of the
// manifests is that of the Helm chart, and its tests look at both.
func TestManifestsOfKubernetes(t *testing.T) {
	data, err := os.ReadFile("../../deploy/kubernetes/snowfence.yaml")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]manifest{} // where there are two of a kind, the last one
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var m manifest
		if d.Decode(&m) != nil {
			break
		}
		have[m.Kind] = m
	}
	settings, pod := have["ConfigMap"].Data["serve.yaml"], have["Deployment"].Spec.Template
	sum := sha256.Sum256([]byte(settings))
	if got, want := pod.Metadata.Annotations["checksum/config"], hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the settings have the checksum %s, the annotation says %s", want, got)
	}
	ports := map[int]bool{}
	for _, e := range have["NetworkPolicy"].Spec.Egress {
		for _, p := range e.Ports {
			ports[p.Port] = true
		}
	}
	if !maps.Equal(ports, map[int]bool{53: true, 5432: true}) {
		t.Errorf("pods may reach the ports %v", ports)
	}
	// What the job makes is what the servers wait for, and the default, which they make.
	made := []string{"default"}
	for _, c := range have["Job"].Spec.Template.Spec.Containers {
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
}
