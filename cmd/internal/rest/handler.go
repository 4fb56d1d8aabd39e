// Package rest is the service over HTTP for people, curl, and programs without a client
// of their own: paths, JSON with IDs as strings, or lines of text.
package rest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Identify returns who makes a request.
type Identify func(r *http.Request) (*server.Identity, error)

type rest struct {
	s        *server.Service
	identify Identify
	bufs     sync.Pool // of answers

	json, text, noStore []string // values of headers, which are only read
}

// Mount adds the paths below /v1 to a mux, and their description at /openapi.json. Routes
// that stream are behind streaming.
func Mount(mux *http.ServeMux, s *server.Service, who Identify, streaming func(http.Handler) http.Handler) {
	h := &rest{
		s: s, identify: who, bufs: sync.Pool{New: func() any { return new([]byte) }},
		json: []string{"application/json"}, text: []string{"text/plain; charset=utf-8"}, noStore: []string{"no-store"},
	}
	answer := func(pattern string, serve route, w http.ResponseWriter, r *http.Request) {
		var err error
		if manages(pattern) {
			q := h.requestInfo(pattern, r)
			err = serve(w, r.WithContext(server.WithActor(r.Context(), q)))
			s.Managed(server.HTTP, q, err)
		} else {
			err = serve(w, r)
		}
		if err == nil {
			return
		}
		if context.Cause(r.Context()) != context.Canceled { // otherwise the client has gone
			s.Failed(server.HTTP, err, func() server.Request { return h.requestInfo(pattern, r) })
		}
		Problem(w, err)
	}
	for pattern, serve := range h.routes() {
		serve := sameSite(pattern, serve)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			defer func(began time.Time) {
				info := func() server.Request { return h.requestInfo(pattern, r) }
				s.Answered(server.HTTP, 1, time.Since(began), info)
			}(time.Now())
			answer(pattern, serve, w, r)
		})
	}
	for pattern, serve := range h.streams() {
		serve := sameSite(pattern, serve)
		mux.Handle(pattern, streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(pattern, serve, w, r)
		})))
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { h.notFound(mux, w, r) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI)
	})
}

// manages reports whether a route is for those who manage, whose actions are logged.
func manages(pattern string) bool {
	method, route, _ := strings.Cut(pattern, " ")
	return method != "GET" && path.Base(route) != "next"
}

// sameSite keeps pages of other sites from routes that use up IDs or numbers: the tag of an image
// asks for them with GET, which browsers allow everywhere.
func sameSite(pattern string, serve route) route {
	if !strings.HasPrefix(pattern, "GET ") || path.Base(pattern) != "next" && path.Base(pattern) != "stream" {
		return serve
	}
	cross := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) error {
		q := *r
		q.Method = http.MethodPost // which it refuses where it lets GET pass
		if cross.Check(&q) != nil {
			return server.Errorf(server.Denied, "a page of another site must not use up IDs or numbers")
		}
		return serve(w, r)
	}
}

// requestInfo is what the log says of a request: its path as documented, without IDs.
func (h *rest) requestInfo(pattern string, r *http.Request) server.Request {
	q := server.Request{
		Name: pattern, Namespace: server.Clip(r.PathValue("namespace")), Sequence: server.Clip(r.PathValue("name")),
		Node: server.Clip(r.PathValue("node")), From: r.RemoteAddr,
	}
	if r.TLS != nil {
		q.Certificate = server.CertificateName(r.TLS.PeerCertificates)
	}
	if id, err := h.identify(r); err == nil {
		q.Caller = id.Name
	}
	return q
}

type route func(http.ResponseWriter, *http.Request) error

// streams are the paths whose answers go on until the client has enough.
func (h *rest) streams() map[string]route {
	return map[string]route{"GET /v1/{namespace}/stream": h.stream}
}

// routes are all other paths, as OpenAPI has them, too.
func (h *rest) routes() map[string]route {
	return map[string]route{
		"GET /v1":                         h.list,
		"GET /v1/{namespace}":             h.show,
		"PUT /v1/{namespace}":             h.create,
		"PATCH /v1/{namespace}":           h.change,
		"DELETE /v1/{namespace}":          h.delete,
		"GET /v1/{namespace}/next":        h.next,
		"POST /v1/{namespace}/next":       h.next,
		"GET /v1/{namespace}/decode/{id}": h.decode,
		"GET /v1/{namespace}/range":       h.rangeOf,
		"GET /v1/{namespace}/leases":      h.leases,

		"DELETE /v1/{namespace}/leases/{node}":      h.release,
		"PUT /v1/{namespace}/leases/{node}/veto":    h.veto,
		"DELETE /v1/{namespace}/leases/{node}/veto": h.lift,

		"GET /v1/{name}/sequence":          h.showSequence,
		"PUT /v1/{name}/sequence":          h.createSequence,
		"PATCH /v1/{name}/sequence":        h.changeSequence,
		"DELETE /v1/{name}/sequence":       h.deleteSequence,
		"POST /v1/{name}/sequence/confirm": h.confirmSequence,
		"GET /v1/{name}/sequence/next":     h.nextNumbers,
		"POST /v1/{name}/sequence/next":    h.nextNumbers,
	}
}

// notFound answers what no route does: OPTIONS and wrong methods with what the path can
// do, wrong paths with where to look.
func (h *rest) notFound(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := mux.Handler(&http.Request{Method: m, URL: r.URL, Host: r.Host})
		if strings.Contains(pattern, " /v1") {
			allowed = append(allowed, m)
		}
	}
	what := r.Method + " " + server.Clip(r.URL.Path)
	if len(allowed) == 0 {
		writeProblem(w, http.StatusNotFound, server.Invalid, what+": there is no such path: see /openapi.json")
		return
	}
	w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeProblem(w, http.StatusMethodNotAllowed, server.Invalid, what+": this path takes "+strings.Join(allowed, ", "))
}

// status is the table from kinds of errors to those of HTTP.
func status(k server.Kind) int {
	switch k {
	case server.Invalid:
		return http.StatusBadRequest
	case server.NoNamespace, server.NoSequence:
		return http.StatusNotFound
	case server.Exists, server.Lost:
		return http.StatusConflict
	case server.NoNodes, server.Exhausted, server.Unavailable:
		return http.StatusServiceUnavailable
	case server.Refused, server.Lifetime, server.Ended, server.RolledBack, server.NoPeriod:
		return http.StatusUnprocessableEntity
	case server.Anonymous:
		return http.StatusUnauthorized
	case server.Denied:
		return http.StatusForbidden
	case server.TooMuch:
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// problem is an error as RFC 9457 has it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Kind   string `json:"kind"`
}

// Problem writes an error as application/problem+json.
func Problem(w http.ResponseWriter, err error) {
	kind := server.KindOf(err)
	code := status(kind)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		code = http.StatusRequestEntityTooLarge
	}
	if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(int(server.RetryAfter(err).Seconds())))
	}
	writeProblem(w, code, kind, err.Error())
}

// writeProblem writes a problem document.
func writeProblem(w http.ResponseWriter, code int, kind server.Kind, detail string) {
	h := w.Header()
	if code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="snowfence"`)
	}
	body, err := json.Marshal(problem{"about:blank", http.StatusText(code), code, detail, kind.Name()})
	if err != nil {
		http.Error(w, http.StatusText(code), code)
		return
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

// writeJSON writes a value as JSON.
func writeJSON(w http.ResponseWriter, code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return server.NewError(server.Internal, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// authorize returns the namespace of a request whose caller may do something in it. The request
// counts as n IDs.
func (h *rest) authorize(r *http.Request, v server.Verb, n int64) (string, *server.Identity, error) {
	id, err := h.identify(r)
	if err != nil {
		return "", nil, err
	}
	name := r.PathValue("namespace")
	return name, id, id.Authorize(v, name, n)
}

// authorizedSpace is may for what reads a namespace.
func (h *rest) authorizedSpace(r *http.Request, v server.Verb, n int64) (*server.Space, *server.Identity, error) {
	id, err := h.identify(r)
	if err != nil {
		return nil, nil, err
	}
	sp, err := h.s.SpaceFor(r.Context(), id, v, r.PathValue("namespace"), n)
	return sp, id, err
}

//go:embed openapi.json
var openAPI []byte
