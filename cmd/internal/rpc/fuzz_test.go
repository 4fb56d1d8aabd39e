package rpc

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

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
