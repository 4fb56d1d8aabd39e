package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// call is a request to LeaseService. One of its messages is set.
type call struct {
	method  string
	ctx     context.Context // ends when the client hangs up
	n       int             // how many of its kind there were, with this one
	acquire *pb.AcquireRequest
	renew   *pb.RenewRequest
	release *pb.ReleaseRequest
	batch   bool // Renew came as a RenewAll
	json    bool
}

// read returns the call of a request, or nil for methods that the referee
// does not judge.
func read(r *http.Request, body []byte) (*call, error) {
	c := &call{method: strings.TrimPrefix(r.URL.Path, leaseService), ctx: r.Context()}
	var m, all proto.Message
	var many pb.RenewAllRequest
	switch c.method {
	case "Acquire":
		c.acquire = &pb.AcquireRequest{}
		m = c.acquire
	case "Renew":
		c.renew = &pb.RenewRequest{}
		m = c.renew
	case "Release":
		c.release = &pb.ReleaseRequest{}
		m = c.release
	case "RenewAll":
		all, c.batch = &many, true
		m = all
	default:
		return nil, nil
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	var err error
	switch kind {
	case "application/json":
		c.json = true
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, m)
	case "application/proto":
		err = proto.Unmarshal(body, m)
	default:
		err = fmt.Errorf("the Content-Type is %q: the referee reads application/json, and application/proto of "+
			"Connect", kind)
	}
	if err == nil && c.batch {
		if len(many.Renewals) != 1 {
			return nil, fmt.Errorf("%d renewals in a RenewAll of a client with one lease", len(many.Renewals))
		}
		c.renew, c.method = many.Renewals[0], "Renew"
	}
	return c, err
}

// failure is an error that a server answers with.
type failure struct {
	code   connect.Code
	reason string
}

var (
	lost        = &failure{connect.CodeAborted, "lost"}
	noNamespace = &failure{connect.CodeNotFound, "no-namespace"}
	elsewhere   = &failure{connect.CodeUnavailable, "elsewhere"}
	invalid     = &failure{connect.CodeInvalidArgument, "invalid"}
	unavailable = &failure{connect.CodeUnavailable, "unavailable"}
)

// endsLease reports whether a Renew that fails so means that the lease is
// lost.
func (f *failure) endsLease() bool {
	return f != nil && (f.reason == lost.reason || f.reason == noNamespace.reason)
}

func (f *failure) writeTo(w http.ResponseWriter, r *http.Request, c *call) {
	if c.batch {
		m := &pb.RenewAllResponse{Renewals: []*pb.Renewal{{Reason: f.reason, Message: "the referee says so"}}}
		writeMessage(w, c, m)
		return
	}
	err := connect.NewError(f.code, errors.New("the referee says so"))
	detail, detailErr := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: f.reason, Domain: "snowfence"})
	if detailErr == nil {
		err.AddDetail(detail)
	}
	_ = connect.NewErrorWriter().Write(w, r, err) // the client may be gone
}

// leaseIn returns the lease of the server's answer, or how it failed.
// Release has neither.
func leaseIn(c *call, status int, body []byte) (*pb.Lease, *failure, error) {
	if status != http.StatusOK || c.release != nil {
		return nil, failureOf(status, ""), nil
	}
	out := &pb.Lease{}
	var m proto.Message = out
	if c.batch {
		m = &pb.RenewAllResponse{}
	}
	var err error
	if c.json {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, m)
	} else {
		err = proto.Unmarshal(body, m)
	}
	if all, ok := m.(*pb.RenewAllResponse); ok && err == nil {
		one := all.Renewals[0]
		return one.Lease, failureOf(http.StatusOK, one.Reason), nil
	}
	return out, nil, err
}

// failureOf returns the failure in an answer of the server, nil if it has
// none.
func failureOf(status int, reason string) *failure {
	switch {
	case status == http.StatusNotFound:
		return noNamespace
	case status == http.StatusConflict:
		return lost
	case status != http.StatusOK:
		return unavailable
	case reason == "":
		return nil
	}
	return &failure{connect.CodeUnavailable, reason}
}

// writeMessage answers with a message as the client writes its own. It has
// a field that no client knows yet, as the answer of a newer server can.
func writeMessage(w http.ResponseWriter, c *call, m proto.Message) {
	var b []byte
	var err error
	if c.json {
		w.Header().Set("Content-Type", "application/json")
		b, err = protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		more := `{"later":{"a":[1]}`
		if string(b) != "{}" {
			more += ","
		}
		b = append([]byte(more), strings.TrimPrefix(string(b), "{")...)
	} else {
		w.Header().Set("Content-Type", "application/proto")
		b, err = proto.Marshal(m)
		b = protowire.AppendVarint(protowire.AppendTag(b, 1000, protowire.VarintType), 1)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a message of ours that cannot be written: the client gets no answer
	}
	_, _ = w.Write(b)
}

func writeLease(w http.ResponseWriter, c *call, l *pb.Lease) {
	if c.batch {
		writeMessage(w, c, &pb.RenewAllResponse{Renewals: []*pb.Renewal{{Lease: l}}})
		return
	}
	writeMessage(w, c, l)
}
