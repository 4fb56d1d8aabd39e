// Package rest is the service over HTTP for people, curl, and programs
// without a client of their own: paths, JSON with IDs as strings, or lines
// of text.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Mount adds the paths below /v1 to a mux, and their description at
// /openapi.json. Routes that stream are behind streaming.
func Mount(mux *http.ServeMux, s *server.Service, who server.Identify, streaming func(http.Handler) http.Handler) {
	h := &rest{
		s: s, who: who, bufs: sync.Pool{New: func() any { return new([]byte) }},
		json: []string{"application/json"}, text: []string{"text/plain; charset=utf-8"}, noStore: []string{"no-store"},
	}
	patterns, all := map[string][]*route{}, h.boundRoutes()
	for _, rt := range all {
		patterns[rt.pattern] = append(patterns[rt.pattern], rt)
	}
	for pattern, routes := range patterns {
		handler := http.Handler(h.handlerOf(routes))
		if routes[0].streams {
			handler = streaming(handler)
		}
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { h.notFound(mux, w, r) })
	document := sync.OnceValues(func() ([]byte, error) { return openAPI(all) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		text, err := document()
		if err != nil {
			Problem(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
}

// handlerOf serves the routes of one pattern.
func (h *rest) handlerOf(routes []*route) http.HandlerFunc {
	site := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{route: routes[0], w: w, r: r}
		about := func() server.Request {
			q := e.caller.Request(e.pattern)
			q.Namespace, q.Sequence = server.Clip(r.PathValue("namespace")), server.Clip(r.PathValue("name"))
			q.Node = server.Clip(r.PathValue("node"))
			return q
		}
		if !e.streams {
			defer func(began time.Time) { h.s.Answered(server.HTTP, 1, time.Since(began), about) }(time.Now())
		}
		var err error
		e.caller, err = h.who.Caller(r)
		defer h.s.Ended(e.caller)
		if err == nil {
			err = e.answerBy(routes, site)
		}
		if err == nil {
			return
		}
		if context.Cause(r.Context()) != context.Canceled { // otherwise the client has gone
			h.s.Failed(server.HTTP, err, about)
		}
		Problem(w, err)
	}
}

// answerBy answers a request by the right one of the routes that share its
// path.
func (e *exchange) answerBy(routes []*route, site *http.CrossOriginProtection) error {
	if e.usesUp() && e.r.Method != http.MethodPost {
		// The tag of an image asks with GET, which browsers allow
		// everywhere.
		post := *e.r
		post.Method = http.MethodPost
		if site.Check(&post) != nil {
			return server.Errorf(server.Denied, "a page of another site must not use up IDs or numbers")
		}
	}
	if e.serve != nil {
		return e.serve(e)
	}
	if want := e.r.URL.Query().Get("list"); len(routes) > 1 && want != "" {
		i := slices.IndexFunc(routes, func(rt *route) bool { return rt.list == want })
		if i < 0 {
			if err := e.caller.Authorize(server.VerbRead, "", 1); err != nil {
				return err
			}
			return server.Errorf(server.Invalid, "list=%s: list namespaces, sequences or servers",
				server.Clip(want))
		}
		e.route = routes[i]
	}
	return e.makeCall()
}

// notFound answers requests without a route: OPTIONS and wrong methods with
// the methods of the path, wrong paths with the place of the list.
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
	code := kind.Status()
	if errors.As(err, new(*http.MaxBytesError)) {
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
