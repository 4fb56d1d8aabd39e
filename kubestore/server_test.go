package kubestore

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// server answers as an API server does: what it says to each request was
// seen on a real one.
type server struct {
	*httptest.Server

	mu      sync.Mutex // guards what follows
	version int
	objects map[string]object
	answer  func(*http.Request) *status // in place of the answer, before anything is done; nil goes on
	lose    func(*http.Request) bool    // whether the answer is lost
	sent    []string                    // methods and names
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{version: 1000, objects: map[string]object{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.handle))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) config() *Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &Config{Server: s.URL, Namespace: "ids", CA: ca, Token: func() (string, error) { return "token", nil }}
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/ids/leases")
	name = strings.TrimPrefix(name, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r.Method+" "+name)
	refusal, body := (*status)(nil), any(nil)
	if s.answer != nil {
		refusal = s.answer(r)
	}
	switch {
	case refusal != nil:
	case !ok:
		refusal = &status{code: 404, Reason: "NotFound", Message: "the server could not find the requested resource"}
	case r.Header.Get("Authorization") != "Bearer token":
		refusal = &status{code: 401, Reason: "Unauthorized", Message: "Unauthorized"}
	case r.Method == http.MethodGet && name == "":
		body = s.list(r)
	case r.Method == http.MethodGet:
		if body, ok = s.objects[name]; !ok {
			refusal = notFound(name)
		}
	default:
		var o object
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			refusal = &status{code: 400, Reason: "BadRequest", Message: err.Error()}
			break
		}
		body, refusal = s.write(o, r.Method == http.MethodPost)
	}
	if s.lose != nil && s.lose(r) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if refusal != nil {
		body = refusal
		w.WriteHeader(refusal.code)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func notFound(name string) *status {
	s := &status{code: 404, Reason: "NotFound", Message: fmt.Sprintf("leases %q not found", name)}
	s.Details.Name = name
	return s
}

// write makes or replaces an object. A PUT makes a missing one, unless it
// names a UID.
func (s *server) write(o object, create bool) (any, *status) {
	name := o.Metadata.Name
	old, exists := s.objects[name]
	conflict := func(why string) *status {
		return &status{code: 409, Reason: "Conflict", Message: fmt.Sprintf("leases %q: %s", name, why)}
	}
	switch {
	case create && exists:
		return nil, &status{code: 409, Reason: "AlreadyExists", Message: fmt.Sprintf("leases %q already exists", name)}
	case !exists && o.Metadata.UID != "", exists && o.Metadata.UID != "" && o.Metadata.UID != old.Metadata.UID:
		return nil, conflict("Precondition failed: UID in precondition: " + o.Metadata.UID)
	case exists && o.Metadata.ResourceVersion != old.Metadata.ResourceVersion:
		return nil, conflict("the object has been modified")
	}
	s.version++
	o.Metadata.Namespace = "ids"
	o.Metadata.UID = cmp.Or(old.Metadata.UID, rand.Text())
	o.Metadata.ResourceVersion = strconv.Itoa(s.version)
	s.objects[name] = o
	return o, nil
}

// list returns a page of two objects, because a page that is shorter than
// the limit may have a next one.
func (s *server) list(r *http.Request) any {
	label, value, equal := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	var names []string
	for name, o := range s.objects {
		has, ok := o.Metadata.Labels[label]
		if ok && (!equal || has == value) && name > r.URL.Query().Get("continue") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	next := ""
	if len(names) > 2 {
		names = names[:2]
		next = names[1]
	}
	items := []object{}
	for _, name := range names {
		items = append(items, s.objects[name])
	}
	return map[string]any{"items": items, "metadata": map[string]string{"continue": next}}
}
