package rest

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// definition is the protocol with its comments; scripts/proto.sh makes it.
//
//go:embed definition.binpb
var definition []byte

// object is a JSON object.
type object = map[string]any

// describer describes routes in OpenAPI.
type describer struct {
	messages protoreflect.MessageDescriptors // of the protocol, with their comments
	file     protoreflect.FileDescriptor
	paths    object
	schemas  object
}

// openAPI returns the document of all routes, from the table of routes and
// the comments in the definition of the protocol.
func openAPI(routes []*route) ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(definition, &set); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(set.File[0], protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	d := &describer{messages: file.Messages(), file: file, paths: object{}, schemas: object{"Problem": problemSchema}}
	for _, rt := range routes {
		d.addRoute(rt)
	}
	text, err := json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Snowfence", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Unique 64-bit IDs, and numbers of durable sequences. Numbers of 64 bits are strings in " +
				"JSON, because JavaScript's numbers round them.",
		},
		"paths": d.paths, "security": []any{object{"token": []any{}}, object{}},
		"components": object{
			"schemas":         d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	})
	return text, err
}

var problemSchema = object{
	"type": "object", "description": "What went wrong, as RFC 9457 has it.",
	"required": []string{"type", "title", "status", "detail", "kind"},
	"properties": object{
		"type": object{"type": "string"}, "title": object{"type": "string"}, "status": object{"type": "integer"},
		"detail": object{"type": "string", "description": "For people."},
		"kind":   object{"type": "string", "description": "For programs: it never changes."},
	},
}

// addRoute describes a route. Routes with one pattern differ by a
// parameter, and each answers with another list.
func (d *describer) addRoute(rt *route) {
	verb, path, _ := strings.Cut(rt.pattern, " ")
	if d.paths[path] == nil {
		d.paths[path] = object{}
	}
	methods := d.paths[path].(object)
	verb = strings.ToLower(verb)
	called := rt.method.Descriptor
	method := d.file.Services().ByName(called.Parent().Name()).Methods().ByName(called.Name())
	if rt.list != "" && methods[verb] != nil {
		lists := d.schemas["Lists"].(object)["properties"].(object)
		lists[rt.list] = d.describeField(method.Output().Fields().ByName(protoreflect.Name(rt.list)))
		return
	}
	operation := object{
		"operationId": operationID(verb, path), "summary": comment(method),
		"parameters": d.describeParameters(rt, method.Input()),
		"responses":  d.describeResponses(rt, verb, method.Output()),
	}
	if rt.body != "" {
		name := string(method.Input().Name())
		d.schemas[name] = d.describeMessage(method.Input(), rt.inPath)
		operation["requestBody"] = object{"required": true, "content": content("application/json", ref(name))}
	}
	methods[verb] = operation
}

// operationID is the name of a route for generators of clients, as in
// putNamespaceLeasesNodeVeto.
func operationID(verb, path string) string {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/v1"), "/") {
		if part = strings.Trim(part, "{}"); part != "" {
			verb += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return verb
}

func (d *describer) describeParameters(rt *route, in protoreflect.MessageDescriptor) []any {
	list := []any{}
	add := func(p param, where string) {
		schema := object{"type": "string", "description": "namespaces, sequences or servers; namespaces without it."}
		if f := d.fieldOf(in, p.field); f != nil {
			schema = d.describeField(f)
		}
		about := schema["description"]
		delete(schema, "description")
		list = append(list, object{
			"name": p.name, "in": where, "required": where == "path", "schema": schema, "description": about,
		})
	}
	for _, p := range rt.inPath {
		add(p, "path")
	}
	for _, p := range rt.inQuery {
		add(p, "query")
	}
	return list
}

// fieldOf returns a field of a request. Some parameters of new IDs are
// fields of other requests.
func (d *describer) fieldOf(in protoreflect.MessageDescriptor, name protoreflect.Name) protoreflect.FieldDescriptor {
	for _, m := range []protoreflect.MessageDescriptor{
		in, d.messages.ByName("DecodeRequest"), d.messages.ByName("NextAtRequest"),
	} {
		if f := m.Fields().ByName(name); f != nil {
			return f
		}
	}
	return nil
}

func (d *describer) describeResponses(rt *route, verb string, out protoreflect.MessageDescriptor) object {
	all := object{"default": object{
		"description": "What went wrong.", "content": content("application/problem+json", ref("Problem")),
	}}
	if out.Fields().Len() == 0 {
		all[strconv.Itoa(http.StatusNoContent)] = object{"description": "It is done."}
		return all
	}
	kinds, about := object{}, comment(out)
	switch {
	case rt.list != "":
		d.schemas["Lists"] = object{
			"type": "object", "required": []string{},
			"properties": object{rt.list: d.describeField(out.Fields().ByName(protoreflect.Name(rt.list)))},
		}
		kinds = content("application/json", ref("Lists"))
	case !rt.streams:
		kinds = content("application/json", d.refTo(out))
	}
	if rt.lines {
		kinds["text/plain"] = object{"schema": object{"type": "string", "description": "A line for each."}}
	}
	answer := object{"description": about, "content": kinds}
	all[strconv.Itoa(http.StatusOK)] = answer
	if verb == "put" {
		all[strconv.Itoa(http.StatusCreated)] = answer
	}
	return all
}

// refTo describes a message among the schemas.
func (d *describer) refTo(m protoreflect.MessageDescriptor) object {
	name := string(m.Name())
	if d.schemas[name] == nil {
		d.schemas[name] = object{} // while its fields are described
		d.schemas[name] = d.describeMessage(m, nil)
	}
	return ref(name)
}

// describeMessage describes a message, without fields that are elsewhere.
// An answer has all its numbers and texts, even where they are 0 or "".
func (d *describer) describeMessage(m protoreflect.MessageDescriptor, elsewhere []param) object {
	properties, required := object{}, []string{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		properties[string(f.Name())] = d.describeField(f)
		if elsewhere == nil && !f.HasPresence() && !f.IsList() {
			required = append(required, string(f.Name()))
		}
	}
	for _, p := range elsewhere {
		delete(properties, string(p.field))
	}
	out := object{"type": "object", "properties": properties, "required": required}
	if about := comment(m); about != "" {
		out["description"] = about
	}
	return out
}

func (d *describer) describeField(f protoreflect.FieldDescriptor) object {
	one := object{"type": "string"}
	switch f.Kind() {
	case protoreflect.Int64Kind: // an sfixed64 may be an ID, in another form
		one["pattern"] = "^(0|-?[1-9][0-9]{0,18})$"
	case protoreflect.Uint32Kind:
		one["type"] = "integer"
	case protoreflect.BoolKind:
		one["type"] = "boolean"
	case protoreflect.BytesKind:
		one["format"] = "byte"
	case protoreflect.MessageKind:
		switch f.Message().FullName() {
		case "google.protobuf.Timestamp":
			one["format"] = "date-time"
		case "google.protobuf.Duration":
			one["pattern"] = `^-?[0-9]+([.][0-9]+)?s$`
		default:
			one = d.refTo(f.Message())
		}
	}
	switch {
	case f.IsMap():
		one = object{"type": "string", "pattern": "^[a-z0-9-]+=[0-9]+(,[a-z0-9-]+=[0-9]+)*$"}
	case f.IsList():
		one = object{"type": "array", "items": one}
	}
	if about := comment(f); about != "" {
		one["description"] = about
	}
	return one
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func content(kind string, schema object) object { return object{kind: object{"schema": schema}} }

// comment returns the comment on d in the definition.
func comment(d protoreflect.Descriptor) string {
	at := d.ParentFile().SourceLocations().ByDescriptor(d)
	return strings.Join(strings.Fields(at.LeadingComments+" "+at.TrailingComments), " ")
}
