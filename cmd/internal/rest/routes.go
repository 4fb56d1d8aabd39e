package rest

import (
	"errors"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// route is a path, and the call of the protocol that it makes. The path,
// the query and the body fill the fields of the request. OpenAPI says so in
// the same words.
type route struct {
	pattern string
	call    string // service and method
	query   string // its parameters, each with its field if that has another name
	body    string // an example; "" means that there is none
	needs   string // the field that the body must have
	list    string // of several routes with one pattern, the one that the parameter list names

	serve   func(*exchange) error // answers itself, a large answer in pieces
	lines   bool                  // it can answer lines of text
	streams bool                  // until the client has enough

	method  *rpc.Method
	inPath  []param
	inQuery []param
}

// routes are all paths.
func (h *rest) routes() []*route {
	const (
		space, numbers = "/v1/{namespace}", "/v1/{name}/sequence"
		node           = space + "/leases/{node}"
		next           = "n=count runs format prefix at node tag"
		take, some     = "SequenceService/Next", "n=count period runs=without_numbers"
		nodes          = `{"layout":"snowfence","first_node":0,"last_node":1023}`
		part           = `{"max":"999999"}, with max, min_range, max_range or after_failover, because nothing else
			of a ` +
			`sequence changes`
		from = `{"floor":"5000"} or {"used":"4711","programs":20}`
	)
	return []*route{
		{pattern: "GET /v1", call: "NamespaceService/List", list: "namespaces"},
		{pattern: "GET /v1", call: "SequenceService/List", list: "sequences"},
		{pattern: "GET /v1", call: "ServerService/List", list: "servers"},

		{pattern: "GET " + space, call: "NamespaceService/Show"},
		{pattern: "PUT " + space, call: "NamespaceService/Create", body: nodes},
		{pattern: "PATCH " + space, call: "NamespaceService/Change", body: nodes},
		{pattern: "DELETE " + space, call: "NamespaceService/Delete", query: "confirm"},

		{pattern: "GET " + space + "/next", call: "IDService/Next", query: next, serve: h.next, lines: true},
		{pattern: "POST " + space + "/next", call: "IDService/Next", query: next, serve: h.next, lines: true},
		{
			pattern: "GET " + space + "/stream", call: "IDService/Next", query: "format prefix tag", serve: h.stream,
			lines: true, streams: true,
		},
		{pattern: "GET " + space + "/decode/{id}", call: "IDService/Decode", query: "format prefix"},
		{pattern: "GET " + space + "/range", call: "IDService/Range", query: "from to within"},

		{pattern: "GET " + space + "/leases", call: "LeaseService/List", query: "after limit held node"},
		{pattern: "DELETE " + node, call: "LeaseService/ReleaseNode"},
		{
			pattern: "PUT " + node + "/veto", call: "LeaseService/Veto", needs: "reason",
			body: `{"reason":"its number was given to the old cluster"}`,
		},
		{pattern: "DELETE " + node + "/veto", call: "LeaseService/Veto"},

		{pattern: "GET " + numbers, call: "SequenceService/Show"},
		{pattern: "PUT " + numbers, call: "SequenceService/Create", body: `{"mode":"fast","start":"1"}`},
		{pattern: "PATCH " + numbers, call: "SequenceService/Change", body: part},
		{pattern: "DELETE " + numbers, call: "SequenceService/Delete", query: "confirm"},
		{pattern: "POST " + numbers + "/confirm", call: "SequenceService/Confirm", body: from},
		{pattern: "GET " + numbers + "/next", call: take, query: some, serve: h.numbers, lines: true},
		{pattern: "POST " + numbers + "/next", call: take, query: some, serve: h.numbers, lines: true},
	}
}

// usesUp reports whether a route uses up IDs or numbers.
func (rt *route) usesUp() bool {
	base := path.Base(rt.pattern)
	return base == "next" || base == "stream"
}

// wildcards are the parameters of a path.
var wildcards = regexp.MustCompile(`\{(\w+)\}`)

// param is a parameter of a path or a query, and the field that it fills.
type param struct {
	name  string
	field protoreflect.Name
}

// bindMethod finds the method of a route, and the fields that its
// parameters fill.
func (rt *route) bindMethod(m *rpc.Method) {
	rt.method = m
	for _, found := range wildcards.FindAllStringSubmatch(rt.pattern, -1) {
		p := param{found[1], protoreflect.Name(found[1])}
		switch p.name {
		case "namespace", "name": // the request may have either
			p.field = m.Subject().Name()
		case "id":
			p.field = "text"
		}
		rt.inPath = append(rt.inPath, p)
	}
	for _, text := range strings.Fields(rt.query) {
		name, field, ok := strings.Cut(text, "=")
		if !ok {
			field = name
		}
		rt.inQuery = append(rt.inQuery, param{name, protoreflect.Name(field)})
	}
	if rt.list != "" {
		rt.inQuery = append(rt.inQuery, param{"list", ""})
	}
}

// makeCall makes the call of a route, and writes its answer.
func (e *exchange) makeCall() error {
	ctx := server.WithCaller(e.r.Context(), e.caller)
	in := e.method.New()
	if f := e.method.Subject(); f != nil {
		in.ProtoReflect().Set(f, protoreflect.ValueOfString(e.subject()))
	}
	if err := e.method.Authorize(ctx, in); err != nil { // who may not ask is told that first
		return err
	}
	if err := e.fillRequest(in); err != nil {
		return err
	}
	out, err := e.method.Do(ctx, in)
	if err != nil {
		return err
	}
	if out.ProtoReflect().Descriptor().Fields().Len() == 0 {
		e.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := view.JSON(out)
	if err != nil {
		return server.NewError(server.Internal, err)
	}
	e.w.Header().Set("Content-Type", "application/json")
	if e.usesUp() {
		e.w.Header().Set("Cache-Control", "no-store")
	}
	if e.caller.Made {
		e.w.WriteHeader(http.StatusCreated)
	}
	_, _ = e.w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// subject is the name that the path has.
func (e *exchange) subject() string { return e.r.PathValue("namespace") + e.r.PathValue("name") }

func (e *exchange) fillRequest(in proto.Message) error {
	q, err := e.readParams()
	if err != nil {
		return err
	}
	for _, p := range e.inPath {
		if err := setField(in, p, e.r.PathValue(p.name)); err != nil {
			return err
		}
	}
	for _, p := range e.inQuery {
		if err := setField(in, p, q.Get(p.name)); err != nil {
			return err
		}
	}
	if e.body == "" {
		return nil
	}
	said := e.method.New()
	b, err := io.ReadAll(http.MaxBytesReader(e.w, e.r.Body, 64<<10))
	if err == nil {
		err = view.Read(b, said)
	}
	fields := said.ProtoReflect().Descriptor().Fields()
	for _, p := range e.inPath {
		if err == nil && said.ProtoReflect().Has(fields.ByName(p.field)) {
			err = errors.New(string(p.field) + " belongs in the path, so leave it out of the body")
		}
	}
	if err == nil && e.needs != "" && !said.ProtoReflect().Has(fields.ByName(protoreflect.Name(e.needs))) {
		err = errors.New(e.needs + " is missing: others need it to see why")
	}
	if err != nil {
		return server.Errorf(server.Invalid, "the body should be as %s: %w", e.body, err)
	}
	proto.Merge(in, said)
	return nil
}
