package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// face is the paths over a memory store.
type face struct {
	testing.TB
	mux     *http.ServeMux
	service *server.Service
	who     *server.Identity
}

func start(t testing.TB) *face {
	t.Helper()
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	leasable := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 1000}} // tests name others
	must(scope.Namespaces(st).Create(context.Background(), "default", s, leasable))
	f := &face{TB: t, mux: http.NewServeMux(), service: server.New(st, server.Options{}), who: server.Open().Anyone()}
	Mount(f.mux, f.service, func(*http.Request) (*server.Identity, error) {
		if f.who == nil {
			return nil, server.NewError(server.Anonymous, fmt.Errorf("a token is needed"))
		}
		return f.who, nil
	}, func(h http.Handler) http.Handler { return h })
	t.Cleanup(func() {
		noError(t, f.service.Close(context.Background()))
	})
	return f
}

func (f *face) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	f.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, r)
	return w
}

func TestStatuses(t *testing.T) {
	for k := server.Internal; k <= server.Elsewhere; k++ {
		w := httptest.NewRecorder()
		Problem(w, server.NewError(k, fmt.Errorf("why")))
		if (w.Code == 500) != (k == server.Internal) || w.Code < 400 {
			t.Errorf("%s: %d", k.Name(), w.Code)
		}
		document(t).matches(t, k.Name(), w.Body.Bytes(), map[string]any{"$ref": "#/components/schemas/Problem"})
		if (w.Code == 503 || w.Code == 429) != (w.Header().Get("Retry-After") != "") ||
			(w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %v", k.Name(), w.Header())
		}
	}
	f := start(t)
	f.who = nil
	if w := f.do("GET", "/v1/default/next", ""); w.Code != 401 {
		t.Errorf("no token: %d", w.Code)
	}
}

func TestAccept(t *testing.T) {
	f := start(t)
	for accept, text := range map[string]bool{
		"": false, "*/*": false, "text/plain": true, "application/json": false, "text/*": true, "application/*": false,
		"text/plain, application/json": true, "text/plain, application/json;q=0.9": true,
		"text/plain;q=0.5, application/json;q=0.9": false, "text/plain;q=0, */*": false,
		"text/html, */*;q=0.1": false, "text/plain;q=x": true, ",;": false,
		"text/plain;charset=utf-8;q=0.3, application/json;q=0.2": true,
	} {
		w := f.do("GET", "/v1/default/next?n=3", "", "Accept", accept)
		if got := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); got != text ||
			w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%q: %v", accept, w.Header())
		}
		if text && !regexp.MustCompile(`^(\d+\n){3}$`).MatchString(w.Body.String()) {
			t.Errorf("%q: %q", accept, w.Body)
		}
	}
}

// HEAD makes no IDs.
func TestHead(t *testing.T) {
	f := start(t)
	for _, path := range []string{"next", "next?n=100", "next?n=5&runs=true", "stream"} {
		if w := f.do("HEAD", "/v1/default/"+path, ""); w.Code != 200 || w.Body.Len() > 0 ||
			w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	sp, err := f.service.Spaces.Find(t.Context(), "default")
	if err != nil || sp.Made.Load() != 0 {
		t.Errorf("%d IDs were made, %v", sp.Made.Load(), err)
	}
}

// A large answer is all there, in order, whatever pieces it was written in.
func TestLargeBatch(t *testing.T) {
	f := start(t)
	for _, n := range []int{1, 2, chunk, chunk + 1, 3*chunk - 1, 100_000} {
		var v struct{ IDs []string }
		w := f.do("GET", "/v1/default/next?n="+strconv.Itoa(n), "")
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || len(v.IDs) != n {
			t.Fatalf("%d: %d IDs, %v", n, len(v.IDs), err)
		}
		for i, text := range v.IDs[1:] {
			if len(text) != 19 || text <= v.IDs[i] {
				t.Fatalf("%s after %s", text, v.IDs[i])
			}
		}
		res := f.do("GET", "/v1/default/next?n="+strconv.Itoa(n), "", "Accept", "text/plain")
		if lines := strings.Count(res.Body.String(), "\n"); lines != n {
			t.Errorf("%d lines of %d", lines, n)
		}
	}
}

// FuzzPaths: no request makes a handler panic, or answer what is no status.
func FuzzPaths(f *testing.F) {
	fa := start(f)
	for _, s := range []string{
		"/v1", "/v1/default/next?n=2", "/v1/default/decode/1",
		"/v1/default/range?from=1&to=2", "/v1/default/leases?after=5", "/v1//", "/v1/%00/next",
	} {
		f.Add(uint8(0), s, "text/plain;q=0.5", "")
	}
	f.Add(uint8(1), "/v1/x", "", `{"layout":"twitter"}`)
	f.Add(uint8(1), "/v1/x/sequence", "", `{"start":"5","max":9,"after_failover":"trust"}`)
	f.Add(uint8(4), "/v1/x/sequence/confirm", "", `{"floor":"7"}`)
	f.Add(uint8(0), "/v1/x/sequence/next?n=2&period=2026&runs=1", "", "")
	methods := []string{"GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS"}
	f.Fuzz(func(t *testing.T, method uint8, target, accept, body string) {
		r, err := http.NewRequest(methods[int(method)%len(methods)], "http://x", io.NopCloser(strings.NewReader(body)))
		noError(t, err)
		if r.URL, err = r.URL.Parse(target); err != nil || strings.HasSuffix(r.URL.Path, "/stream") ||
			r.URL.Host != "x" {
			return
		}
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		fa.mux.ServeHTTP(w, r)
		if w.Code < 200 || w.Code >= 500 && w.Code != 503 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
