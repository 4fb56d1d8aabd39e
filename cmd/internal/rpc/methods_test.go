package rpc

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// post makes a call in JSON, and returns the code of its error.
func (w *rig) post(procedure, body string) string {
	w.Helper()
	res := must(http.Post(w.url+procedure, "application/json", strings.NewReader(body)))
	defer res.Body.Close()
	var v struct{ Code string }
	noError(w, json.NewDecoder(res.Body).Decode(&v))
	return v.Code
}

// body is a request about a name that each method reads.
func (m *Method) body(name string) string {
	if f := m.Subject(); f != nil {
		return `{"` + string(f.Name()) + `":"` + name + `"}`
	}
	return "{}"
}

// needs are the verbs of methods that look themselves what their caller may
// do. Those with a ticket in place of a name are not here.
var needs = map[string]server.Verb{
	"/snowfence.v1.IDService/Next": server.VerbIDs, "/snowfence.v1.IDService/NextAt": server.VerbIDs,
	"/snowfence.v1.LeaseService/Acquire": server.VerbLease, "/snowfence.v1.SequenceService/Next": server.VerbIDs,
}

// Each method is for those whose token has its verb, in the namespaces of
// the token, and counts for the token's rate whatever becomes of it.
func TestRights(t *testing.T) {
	w := start(t, "orders")
	for _, m := range Methods(w.service) {
		verb := m.Verb
		if verb == "" {
			verb = needs[m.Procedure]
		}
		w.who.Store(nil)
		if code := w.post(m.Procedure, "{}"); code != "unauthenticated" && code != "invalid_argument" &&
			!strings.HasSuffix(m.Procedure, "/RenewAll") {
			t.Errorf("%s without a token: %s", m.Procedure, code)
		}
		if verb == "" {
			continue
		}
		for _, have := range []server.Verb{server.VerbIDs, server.VerbRead, server.VerbLease, server.VerbManage} {
			w.as(server.Token{Verbs: []server.Verb{have}, Namespaces: []string{"ord*"}})
			if code := w.post(m.Procedure, m.body("orders")); (code == "permission_denied") != (have != verb) {
				t.Errorf("%s with the verb %s: %q", m.Procedure, have, code)
			}
			if code := w.post(m.Procedure, m.body("others")); m.Subject() != nil && code != "permission_denied" {
				t.Errorf("%s of another namespace with the verb %s: %q", m.Procedure, have, code)
			}
		}
		w.as(server.Token{Verbs: []server.Verb{verb}, Rate: 1e-9, Burst: 2})
		for i := range 3 {
			if code := w.post(m.Procedure, m.body("missing")); (code == "resource_exhausted") != (i == 2) {
				t.Errorf("%s, request %d of 2: %q", m.Procedure, i+1, code)
			}
		}
	}
}

// The table has every method of the definition that has one answer, and a
// request about a namespace that has no name is about the default one.
func TestMethodsAreComplete(t *testing.T) {
	w := start(t)
	var have []string
	for _, m := range Methods(w.service) {
		have = append(have, m.Procedure)
		if m.Subject() == nil || m.Descriptor.Parent().Name() == "SequenceService" || m.Verb != server.VerbRead {
			continue
		}
		if code := w.post(m.Procedure, "{}"); code != "" && code != "invalid_argument" {
			t.Errorf("%s of no name: %s", m.Procedure, code)
		}
	}
	services := pb.File_snowfence_v1_snowfence_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			m := methods.Get(j)
			procedure := "/" + string(services.Get(i).FullName()) + "/" + string(m.Name())
			if !m.IsStreamingServer() && !slices.Contains(have, procedure) {
				t.Errorf("%s is not there", procedure)
			}
		}
	}
}
