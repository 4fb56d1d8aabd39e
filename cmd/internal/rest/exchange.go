package rest

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sync"

	"github.com/snowfence/snowfence/cmd/internal/rpc"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// exchange is a request on a route.
type exchange struct {
	*route
	w      http.ResponseWriter
	r      *http.Request
	caller *server.Caller
}

type rest struct {
	s    *server.Service
	who  server.Identify
	bufs sync.Pool // of answers

	json, text, noStore []string // values of headers, which are only read
}

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

// param is a parameter of a path or a query, and the field that it fills.
type param struct {
	name  string
	field protoreflect.Name
}

// usesUp reports whether a route uses up IDs or numbers.
func (rt *route) usesUp() bool {
	base := path.Base(rt.pattern)
	return base == "next" || base == "stream"
}

// subject is the name that the path has.
func (e *exchange) subject() string { return e.r.PathValue("namespace") + e.r.PathValue("name") }

// makeCall makes the call of a route, and writes its answer.
func (e *exchange) makeCall() error {
	ctx := server.WithCaller(e.r.Context(), e.caller)
	in := e.method.New()
	if f := e.method.Subject(); f != nil {
		in.ProtoReflect().Set(f, protoreflect.ValueOfString(e.subject()))
	}
	if err := e.method.Authorize(ctx, in); err != nil { // before mistakes in the request
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

// readParams returns the parameters of a request. Each has to be one of the
// route's, once: with an ignored misspelling, a request would mean
// something else.
func (e *exchange) readParams() (url.Values, error) {
	if e.body == "" && e.r.ContentLength > 0 {
		return nil, server.Errorf(server.Invalid, "this call reads no body: write parameters into the query: ?n=10")
	}
	if e.r.URL.RawQuery == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(e.r.URL.RawQuery)
	if err != nil {
		return nil, server.Errorf(server.Invalid, "the query %s: %w", server.Clip(e.r.URL.RawQuery), err)
	}
	for name, values := range q {
		if !slices.ContainsFunc(e.inQuery, func(p param) bool { return p.name == name }) {
			known := "none"
			for i, p := range e.inQuery {
				if known += ", " + p.name; i == 0 {
					known = p.name
				}
			}
			return nil, server.Errorf(server.Invalid, "there is no parameter %s here; known: %s",
				server.Clip(name), known)
		}
		if len(values) != 1 {
			return nil, server.Errorf(server.Invalid, "%s is given %d times", name, len(values))
		}
	}
	return q, nil
}
