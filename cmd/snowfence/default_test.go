package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/sqlstore"
)

// output runs the program in this process and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, nil); code != command.ExitOK {
		t.Fatalf("%v: exit code %d\n%s", args, code, stderr.String())
	}
	return stdout.String()
}

// TestOneDefault makes namespaces in every way that names no layout.
func TestOneDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	store := "sqlite:" + path
	output(t, "new", "--store", store)
	output(t, "namespace", "create", "created", "--store", store)
	st := must(open.Open(t.Context(), store))
	defer st.Close()
	service, mux := server.New(st.Leases, server.Options{}), http.NewServeMux()
	defer service.Close(t.Context())
	anyone := func(*http.Request) (*server.Identity, error) { return server.Open().Anyone(), nil }
	rest.Mount(mux, service, anyone, func(h http.Handler) http.Handler { return h })
	w := httptest.NewRecorder()
	if mux.ServeHTTP(w, httptest.NewRequest("PUT", "/v1/put", strings.NewReader("{}"))); w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	list, err := scope.Namespaces(st.Leases).List(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, ns := range list {
		if !ns.Layout.Equal(snowfence.Default()) {
			t.Errorf("namespace %s has the layout %s", ns.Name, ns.Layout)
		}
	}
	for _, name := range []string{"default", "snowfence"} {
		if l, err := snowfence.ParseLayout(name); err != nil || !l.Equal(snowfence.Default()) {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if out := output(t, "plan", "--json"); !strings.Contains(out, snowfence.Default().String()) {
		t.Errorf("plan looks at %s", out)
	}
	if out := output(t, "decode", "--json", "249887800817025024"); !strings.Contains(out, `"time":"2026-11-21T13:24:54.405Z"`) {
		t.Errorf("decode: %s", out)
	}
}

// TestGeneratorAfterProgram is a file that the program made, opened by the
// library's one-line door.
func TestGeneratorAfterProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	output(t, "new", "--store", "sqlite:"+path)
	db := must(sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate"))
	defer db.Close()
	g := must(sqlstore.Open(t.Context(), db, sqlstore.SQLite(), nil))
	defer g.Close()
	id := must(g.Next(t.Context()))
	s := must(snowfence.NewScheme(snowfence.Default()))
	if p, err := s.Decode(id); err != nil || time.Since(p.Time).Abs() > time.Hour {
		t.Errorf("%d is of %v, %v", id, p.Time, err)
	}
}

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

// Reflection describes all files that the program has, also to strangers.
func TestDescriptionsFitIntoTheirRoom(t *testing.T) {
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		all := map[string]int{}
		var add func(protoreflect.FileDescriptor)
		add = func(f protoreflect.FileDescriptor) {
			all[f.Path()] = proto.Size(protodesc.ToFileDescriptorProto(f))
			for i := range f.Imports().Len() {
				add(f.Imports().Get(i))
			}
		}
		add(f)
		sum := 0
		for _, n := range all {
			sum += n
		}
		if sum > server.StreamRoom/3 {
			t.Errorf("%s: %d bytes", f.Path(), sum)
		}
		return true
	})
}
