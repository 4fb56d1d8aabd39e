package rest

import (
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// tagParam reads the parameter tag; without it, it returns nil.
func tagParam(q url.Values) (*int64, error) {
	if q.Get("tag") == "" {
		return nil, nil
	}
	tag, err := intParam("tag", q.Get("tag"), 0)
	return &tag, err
}

// intParam reads a parameter; without it, it returns missing.
func intParam(name, text string, missing int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, server.Errorf(server.Invalid, "%s=%s is not a number", name, server.Clip(text))
	}
	return n, nil
}

// setField fills a field from a parameter, if that is there.
func setField(m proto.Message, p param, text string) (err error) {
	r := m.ProtoReflect()
	f := r.Descriptor().Fields().ByName(p.field)
	if f == nil || text == "" {
		return nil
	}
	if f.IsMap() { // the only one has numbers of fields
		within, err := server.ReadWithin(text)
		for name, n := range within {
			r.Mutable(f).Map().Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfInt64(n))
		}
		return err
	}
	var v protoreflect.Value
	switch f.Kind() {
	case protoreflect.StringKind:
		v = protoreflect.ValueOfString(text)
	case protoreflect.BoolKind:
		var is bool
		is, err = boolParam(p.name, text)
		v = protoreflect.ValueOfBool(is)
	case protoreflect.MessageKind: // a time is the only one in a query
		var at time.Time
		at, err = server.ParseTime(text)
		v = protoreflect.ValueOfMessage(timestamppb.New(at).ProtoReflect())
	default:
		var n int64
		n, err = intParam(p.name, text, 0)
		if v = protoreflect.ValueOfInt64(n); f.Kind() == protoreflect.Uint32Kind {
			v = protoreflect.ValueOfUint32(uint32(min(n, math.MaxUint32)))
			if err == nil && n < 1 {
				err = server.Errorf(server.Invalid, "%s=%d: give a number from 1 up", p.name, n)
			}
		}
	}
	if err == nil {
		r.Set(f, v)
	}
	return err
}

// boolParam reads a parameter that is true or false. A missing one is
// false.
func boolParam(name, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	is, err := strconv.ParseBool(text)
	if err != nil {
		return false, server.Errorf(server.Invalid, "%s=%s is neither true nor false", name, server.Clip(text))
	}
	return is, nil
}
