package rpc

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The generated code is what the definition says now.
func TestGenerated(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed: make test installs it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("../../../scripts/proto.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameDefinition(t, filepath.Join(dir, "definition.binpb"))
	for _, name := range []string{
		"snowfencev1/snowfence.pb.go",
		"snowfencev1/snowfencev1connect/snowfence.connect.go",
	} {
		want := must(os.ReadFile(filepath.Join(dir, name)))
		got := must(os.ReadFile(filepath.Join("../../../remote", name)))
		if versionless(got) != versionless(want) {
			t.Errorf("remote/%s is not what proto/ makes: run scripts/proto.sh", name)
		}
	}
}

// sameDefinition compares the definition that the document of OpenAPI takes
// its words from.
func sameDefinition(t *testing.T, made string) {
	t.Helper()
	var sets [2]descriptorpb.FileDescriptorSet
	for i, name := range []string{made, "../rest/definition.binpb"} {
		b, err := os.ReadFile(name)
		if err == nil {
			err = proto.Unmarshal(b, &sets[i])
		}
		noError(t, err)
	}
	if !proto.Equal(&sets[0], &sets[1]) {
		t.Error("cmd/internal/rest/definition.binpb is not what proto/ says: run scripts/proto.sh")
	}
}

// versionless leaves out the lines that name the versions of generators.
func versionless(b []byte) string {
	var kept []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "// \tprotoc") && !strings.HasPrefix(line, "// - protoc") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Bytes that are no request are answered, whatever they are, and nothing
// panics.
func FuzzRequest(f *testing.F) {
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(context.Background(), "default", s, nil))
	service := server.New(st, server.Options{})
	f.Cleanup(func() { _ = service.Close(context.Background()) })
	mux := http.NewServeMux()
	anyone := func(*http.Request) (*server.Identity, error) { return server.Open().Anyone(), nil }
	Mount(mux, service, anyone, plain)
	methods := []string{
		next, "/snowfence.v1.IDService/Decode", "/snowfence.v1.LeaseService/Renew",
		"/snowfence.v1.SequenceService/Create",
		"/snowfence.v1.SequenceService/Next", "/snowfence.v1.SequenceService/Confirm",
	}
	kinds := []string{"application/json", "application/proto", "application/grpc", "application/grpc-web+proto"}
	f.Add(uint8(0), uint8(0), []byte(`{"count":2}`))
	f.Add(uint8(2), uint8(0), []byte(`{"ticket":"e30=","attempt":"x"}`))
	f.Add(uint8(3), uint8(0), []byte(`{"writes":[{"old":"","new":{"namespace":"default","node":1,"nonce":"x"}}]}`))
	f.Add(uint8(3), uint8(0), []byte(`{"writes":[{}]}`))
	f.Add(uint8(4), uint8(2), []byte("\x00\x00\x00\x00\x02\x12\x00"))
	f.Add(uint8(5), uint8(0), []byte(`{"name":"orders","start":"-5","step":"3","max":"99","afterFailover":"7"}`))
	f.Add(uint8(6), uint8(0), []byte(`{"name":"orders","count":2,"period":"2026"}`))
	f.Add(uint8(7), uint8(0), []byte(`{"name":"orders","used":"9223372036854775807","programs":"5"}`))
	f.Fuzz(func(t *testing.T, method, kind uint8, body []byte) {
		r := httptest.NewRequest(http.MethodPost, methods[int(method)%len(methods)], bytes.NewReader(body))
		r.Header.Set("Content-Type", kinds[int(kind)%len(kinds)])
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code == 0 || w.Code == http.StatusInternalServerError && !strings.Contains(kinds[int(kind)%len(kinds)], "grpc") && strings.Contains(w.Body.String(), `"internal"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
