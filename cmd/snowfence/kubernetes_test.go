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
		}
	}
}

// A change of the settings reaches the pods, they wait for a namespace that
// they make themselves, and they reach the Kubernetes API. The tests of the
// Helm chart compare the rest with the chart.
func TestManifestsOfKubernetes(t *testing.T) {
	data := must(os.ReadFile("../../deploy/kubernetes/snowfence.yaml"))
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
	if !maps.Equal(ports, map[int]bool{53: true, 443: true, 6443: true, 8443: true}) {
		t.Errorf("pods may reach the ports %v", ports)
	}
	if want := "ready-for: [default]\n"; !strings.Contains(settings, want) {
		t.Errorf("the settings have no %q:\n%s", want, settings)
	}
}
