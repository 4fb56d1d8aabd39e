package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// wire is a server over a memory store that tests talk to.
type rig struct {
	*testing.T
	url     string
	service *server.Service
	who     atomic.Pointer[server.Identity] // of all requests, also of clients that have gone
}

func start(t *testing.T, names ...string) *rig {
	t.Helper()
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	for _, name := range append(names, "default") {
		must(scope.Namespaces(st).Create(t.Context(), name, s, nil))
	}
	w := &rig{T: t, service: server.New(store.Group(st), server.Options{})}
	w.who.Store(server.Open().Anyone())
	mux := http.NewServeMux()
	Mount(mux, w.service, func(*http.Request) (*server.Identity, error) { return w.who.Load(), nil }, plain)
	h := httptest.NewUnstartedServer(mux)
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	w.url = h.URL
	t.Cleanup(func() {
		h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		noError(t, w.service.Close(ctx))
	})
	return w
}

// as makes all requests with a token with these verbs, and returns whom the
// server knows then.
func (w *rig) as(t server.Token) *server.Auth {
	w.Helper()
	t.Name = "t"
	t.SHA256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	a := must(server.NewAuth([]server.Token{t}))
	id := must(a.Identify("secret"))
	w.who.Store(id)
	return a
}

func (w *rig) grpc() *grpc.ClientConn {
	w.Helper()
	c := must(grpc.NewClient(strings.TrimPrefix(w.url, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials())))
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *rig) ids(opts ...connect.ClientOption) snowfencev1connect.IDServiceClient {
	return snowfencev1connect.NewIDServiceClient(http.DefaultClient, w.url, opts...)
}

func (w *rig) leases() snowfencev1connect.LeaseServiceClient {
	return snowfencev1connect.NewLeaseServiceClient(http.DefaultClient, w.url)
}

func (w *rig) wants(what string, err error, want connect.Code, reason string) {
	w.Helper()
	if connect.CodeOf(err) != want {
		w.Errorf("%s: %v, want %s", what, err, want)
		return
	}
	var e *connect.Error
	errors.As(err, &e)
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if info, ok := v.(*errdetails.ErrorInfo); ok && info.Reason == reason && info.Domain == "snowfence" {
				return
			}
		}
	}
	w.Errorf("%s: no detail %q in %v", what, reason, e.Details())
}

const next = "/snowfence.v1.IDService/Next"

// A real gRPC client gets IDs, a large batch with a raised limit, error
// details, and streams that end when it goes.
func TestGRPC(t *testing.T) {
	w := start(t)
	c := w.grpc()
	ctx := t.Context()
	res := &pb.NextResponse{}
	if err := c.Invoke(ctx, next, &pb.NextRequest{Count: 3}, res); err != nil || len(res.Ids) != 3 ||
		res.Ids[0] >= res.Ids[1] {
		t.Fatalf("%v, %v", res, err)
	}
	// A million are 8 MB, more than the client takes without being told to.
	million := &pb.NextRequest{Count: server.MaxBatch}
	if err := c.Invoke(ctx, next, million, res); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a million within 4 MiB: %v", err)
	}
	if err := c.Invoke(ctx, next, million, res, grpc.MaxCallRecvMsgSize(9<<20)); err != nil ||
		len(res.Ids) != server.MaxBatch {
		t.Fatalf("%d IDs, %v", len(res.Ids), err)
	}
	for i, id := range res.Ids[1:] {
		if id <= res.Ids[i] {
			t.Fatalf("%d after %d", id, res.Ids[i])
		}
	}
	if err := c.Invoke(ctx, next, &pb.NextRequest{Count: 500_000}, res); err != nil || len(res.Ids) != 500_000 {
		t.Errorf("half a million: %d IDs, %v", len(res.Ids), err)
	}
	err := c.Invoke(ctx, next, &pb.NextRequest{Namespace: "nowhere"}, res)
	st, _ := status.FromError(err)
	if st.Code() != codes.NotFound || len(st.Details()) != 1 ||
		st.Details()[0].(*errdetails.ErrorInfo).Reason != "no-namespace" {
		t.Errorf("%v %v", err, st.Details())
	}
	large := &pb.RenewRequest{Ticket: bytes.Repeat([]byte("x"), maxRequest)}
	err = c.Invoke(ctx, "/snowfence.v1.LeaseService/Renew", large, &pb.Lease{})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("an oversized request: %v", err)
	}

	health := healthpb.NewHealthClient(c)
	for _, service := range append(Names(), "") {
		if res, err := health.Check(ctx, &healthpb.HealthCheckRequest{Service: service}); err != nil ||
			res.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, res, err)
		}
	}
	if _, err := health.Check(ctx, &healthpb.HealthCheckRequest{Service: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("health of what is not there: %v", err)
	}
	stream := must(reflectpb.NewServerReflectionClient(c).ServerReflectionInfo(ctx))
	for _, symbol := range Names() {
		question := &reflectpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}
		noError(t, stream.Send(&reflectpb.ServerReflectionRequest{MessageRequest: question}))
		if res, err := stream.Recv(); err != nil || len(res.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
			t.Errorf("reflection of %s: %v, %v", symbol, res, err)
		}
	}
	var others server.Caller
	noError(t, w.service.Reserve(&others, server.MostRoom-2*server.StreamRoom+1)) // a stream has half of the rest
	stream = must(reflectpb.NewServerReflectionClient(c).ServerReflectionInfo(ctx))
	if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("reflection without room: %v", err)
	}
	w.service.Ended(&others)
}

// The same over Connect, gRPC-Web and gRPC of connect's client.
func TestProtocols(t *testing.T) {
	w := start(t)
	for name, opts := range map[string][]connect.ClientOption{
		"connect": nil, "connect with JSON": {connect.WithProtoJSON()}, "grpc-web": {connect.WithGRPCWeb()}, "connect with GET": {connect.WithHTTPGet()},
	} {
		c := w.ids(opts...)
		res, err := c.Next(t.Context(), connect.NewRequest(&pb.NextRequest{Count: 2}))
		if err != nil || len(res.Msg.Ids) != 2 {
			t.Fatalf("%s: %v, %v", name, res, err)
		}
		d, err := c.Decode(t.Context(), connect.NewRequest(&pb.DecodeRequest{Id: res.Msg.Ids[0]}))
		if err != nil || d.Msg.Id != res.Msg.Ids[0] || d.Msg.Node < 0 || time.Since(d.Msg.Time.AsTime()) > time.Minute {
			t.Errorf("%s: %v, %v", name, d, err)
		}
		_, err = c.Decode(t.Context(), connect.NewRequest(&pb.DecodeRequest{Id: -1}))
		w.wants(name, err, connect.CodeInvalidArgument, "invalid")
		_, err = c.Range(t.Context(), connect.NewRequest(&pb.RangeRequest{}))
		w.wants(name+": empty range", err, connect.CodeInvalidArgument, "invalid")
	}
}

// IDs are strings in JSON, because numbers of JavaScript round them.
func TestPlainJSON(t *testing.T) {
	w := start(t)
	post := func(body string) (int, map[string]any) {
		res := must(http.Post(w.url+next, "application/json", strings.NewReader(body)))
		defer res.Body.Close()
		var v map[string]any
		noError(t, json.NewDecoder(res.Body).Decode(&v))
		return res.StatusCode, v
	}
	code, v := post(`{"count":2}`)
	list, _ := v["ids"].([]any)
	if code != 200 || len(list) != 2 {
		t.Fatalf("%d %v", code, v)
	}
	for _, id := range list {
		text, _ := id.(string)
		wantErr(t, errOf(strconv.ParseInt(text, 10, 64)), nil, "%v is no text with an ID", id)
	}
	for body, want := range map[string]string{
		`{"namespace":"nowhere"}`: "not_found", `{"count":1000001}`: "invalid_argument", `{"namespace":"a/b"}`: "invalid_argument",
		`{`: "invalid_argument", `{"namespace":"` + strings.Repeat("x", maxRequest) + `"}`: "resource_exhausted",
	} {
		if code, v := post(body); code == 200 || v["code"] != want {
			t.Errorf("%.50s: %d %v, want %s", body, code, v, want)
		}
	}
}

func TestStream(t *testing.T) {
	w := start(t)
	read := func(c snowfencev1connect.IDServiceClient, req *pb.StreamRequest, most int) (n int, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, err := c.Stream(ctx, connect.NewRequest(req))
		if err != nil {
			return 0, err
		}
		last := int64(0)
		for n < most && s.Receive() {
			for _, id := range s.Msg().Ids {
				if id <= last {
					t.Fatalf("%d after %d", id, last)
				}
				last = id
			}
			n += len(s.Msg().Ids)
		}
		if n >= most {
			cancel() // the client has enough
			return n, nil
		}
		return n, errors.Join(s.Err(), s.Close())
	}
	for _, opts := range [][]connect.ClientOption{nil, {connect.WithGRPCWeb()}} {
		if n, err := read(w.ids(opts...), &pb.StreamRequest{Count: 2500}, 1<<30); n != 2500 || err != nil {
			t.Errorf("%d IDs of 2500, %v", n, err)
		}
		if n, err := read(w.ids(opts...), &pb.StreamRequest{Batch: 100}, 10_000); n != 10_000 || err != nil {
			t.Errorf("%d IDs without end, %v", n, err)
		}
		_, err := read(w.ids(opts...), &pb.StreamRequest{Batch: server.MaxBatch + 1}, 1)
		w.wants("batch", err, connect.CodeInvalidArgument, "invalid")
	}
	// Nothing is held for clients that have gone.
	until(t, "room is given back", func() bool {
		all := new(server.Caller)
		defer w.service.Ended(all)
		return w.service.Reserve(all, server.MostRoom) == nil
	})
	// A stream slows down to the rate of its token; a single request is
	// refused.
	w.as(server.Token{Rate: 1e6, Burst: 10})
	if n, err := read(w.ids(), &pb.StreamRequest{Count: 100, Batch: 50}, 1<<30); n != 100 || err != nil {
		t.Errorf("%d IDs at a rate, %v", n, err)
	}
	_, err := w.ids().Next(t.Context(), connect.NewRequest(&pb.NextRequest{Count: 50}))
	w.wants("more than the burst", err, connect.CodeResourceExhausted, "limit")
}

// A tag is in each ID of an answer and of a stream. Fields above the time
// make several ranges.
func TestTags(t *testing.T) {
	w := start(t)
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("scatter=1,tag=2,time=41,node=8,seq=8,first=4"))
	if err == nil {
		_, err = scope.Namespaces(w.service.Store()).Create(t.Context(), "orders", scheme, nil)
	}
	if err == nil {
		_, err = scope.Namespaces(w.service.Store()).AllowBackfill(t.Context(), "orders", 0)
	}
	noError(t, err)
	c, tag, wrong := w.ids(), int64(3), int64(4)
	tagged := func(what string, m *pb.NextResponse, n int) {
		t.Helper()
		for _, r := range m.Runs {
			m.Ids = append(m.Ids, r.First, r.Last)
		}
		if len(m.Ids) != n {
			t.Errorf("%s: %d IDs", what, len(m.Ids))
		}
		for _, id := range m.Ids {
			if p, err := scheme.Decode(snowfence.ID(id)); err != nil || p.Tag != tag {
				t.Errorf("%s: %+v, %v", what, p, err)
			}
		}
	}
	at := timestamppb.New(time.Now().Add(-time.Hour))
	many, err := c.Next(t.Context(), connect.NewRequest(&pb.NextRequest{Namespace: "orders", Count: 20, Tag: &tag}))
	runs, err2 := c.Next(t.Context(), connect.NewRequest(&pb.NextRequest{Namespace: "orders", Runs: true, Tag: &tag}))
	past, err3 := c.NextAt(t.Context(), connect.NewRequest(&pb.NextAtRequest{Namespace: "orders", At: at, Tag: &tag}))
	nine := &pb.StreamRequest{Namespace: "orders", Count: 9, Tag: &tag}
	stream, err4 := c.Stream(t.Context(), connect.NewRequest(nine))
	if err := errors.Join(err, err2, err3, err4); err != nil || !stream.Receive() {
		t.Fatal(err)
	}
	tagged("next", many.Msg, 20)
	tagged("runs", runs.Msg, 2)
	tagged("the past", past.Msg, 1)
	tagged("stream", stream.Msg(), 9)
	for _, name := range []string{"orders", "default"} {
		_, err = c.Next(t.Context(), connect.NewRequest(&pb.NextRequest{Namespace: name, Tag: &wrong}))
		w.wants(name, err, connect.CodeInvalidArgument, "invalid")
	}
	r, err := c.Range(t.Context(), connect.NewRequest(&pb.RangeRequest{
		Namespace: "orders", From: at, To: timestamppb.Now(), Within: map[string]int64{"tag": tag},
	}))
	if err != nil || len(r.Msg.Ranges) != 2 || r.Msg.Low != nil ||
		r.Msg.Ranges[0].Low>>57 != tag || r.Msg.Ranges[1].High>>57 != 1<<2|tag {
		t.Errorf("ranges %v, %v", r, err)
	}
	r, err = c.Range(t.Context(), connect.NewRequest(&pb.RangeRequest{From: at, To: timestamppb.Now()}))
	if err != nil || r.Msg.Ranges != nil || r.Msg.GetLow() == 0 || r.Msg.GetHigh() < r.Msg.GetLow() {
		t.Errorf("range %v, %v", r, err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not: ", what)
		}
	}
}

// A request that is compressed is not unpacked, with any token, and no
// answer is compressed.
func TestNothingIsCompressed(t *testing.T) {
	w := start(t)
	for _, path := range []string{snowfencev1connect.IDServiceNextProcedure, "/grpc.health.v1.Health/Check"} {
		for encoding, want := range map[string]int{"gzip": http.StatusNotImplemented, "identity": http.StatusOK} {
			req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader("{}")))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Content-Encoding", encoding)
			req.Header.Set("Accept-Encoding", "gzip")
			res := must(http.DefaultClient.Do(req))
			res.Body.Close()
			if got := res.Header.Get("Content-Encoding"); res.StatusCode != want || got != "" {
				t.Errorf("%s sent as %s: status %d, want %d, answer as %q", path, encoding, res.StatusCode, want, got)
			}
		}
	}
}

// Who is not known is told so in the words of each protocol, before
// anything of the message is looked at, however large or wrong it is.
func TestNobodyIsRefusedUnread(t *testing.T) {
	mux := http.NewServeMux()
	Mount(mux, server.New(store.NewMemory(), server.Options{}), func(*http.Request) (*server.Identity, error) {
		return nil, server.NewError(server.Anonymous, errors.New("who are you?"))
	}, plain)
	for kind, want := range map[string]string{"application/json": `"code":"unauthenticated"`, "application/proto": `"code":"unauthenticated"`, "application/grpc": "Grpc-Status:[16]", "application/grpc-web+proto": "Grpc-Status:[16]"} {
		body := &untouched{}
		r := httptest.NewRequest(http.MethodPost, next, body)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if said := fmt.Sprint(w.Header(), w.Body); !strings.Contains(said, want) || body.read {
			t.Errorf("%s: %d %s; the body was read: %v", kind, w.Code, said, body.read)
		}
	}
}

// untouched is a body that notices when it is read.
type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

// plain is a wrapper that changes nothing.
func plain(h http.Handler) http.Handler { return h }
