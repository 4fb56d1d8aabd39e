package rest

import (
	"regexp"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

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

// wildcards are the parameters of a path.
var wildcards = regexp.MustCompile(`\{(\w+)\}`)

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

// boundRoutes returns the routes with the methods that they call.
func (h *rest) boundRoutes() []*route {
	methods := map[string]*rpc.Method{}
	for _, m := range rpc.Methods(h.s) {
		methods[strings.TrimPrefix(m.Procedure, "/snowfence.v1.")] = m
	}
	list := h.routes()
	for _, rt := range list {
		rt.bindMethod(methods[rt.call])
	}
	return list
}
