package rpc

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/proto"
)

// Requests took no room, and two bytes of one became a hundred.
func TestRequestsHaveRoom(t *testing.T) {
	w := start(t)
	ask := func(method, kind string, body io.Reader) string {
		t.Helper()
		res := must(http.Post(w.url+"/snowfence.v1.LeaseService/"+method, "application/"+kind, body))
		defer res.Body.Close()
		text := string(must(io.ReadAll(res.Body)))
		_, code, _ := strings.Cut(text, `"code":"`)
		code, _, _ = strings.Cut(code, `"`)
		return code
	}
	unknown := func(b []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(b)} } // of this length
	empty := bytes.Repeat([]byte("\n\x00"), maxRequest/2)
	for kind, b := range map[string][]byte{
		"proto": empty, "json": []byte(`{"renewals":[{}` + strings.Repeat(",{}", maxRequest/4) + `]}`),
	} {
		var before, after runtime.MemStats // 52 MB with the race detector, 194 unbounded
		runtime.ReadMemStats(&before)
		code := ask("RenewAll", kind, unknown(b))
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; code != "invalid_argument" || took > 60 {
			t.Errorf("a million empty renewals: %q, %d MB", code, took)
		}
	}
	many := &pb.RenewAllRequest{}
	for range maxRenewals {
		one := &pb.RenewRequest{Ticket: make([]byte, 200), Attempt: strings.Repeat("x", 22)}
		for range 64 {
			one.Earlier = append(one.Earlier, one.Attempt)
		}
		many.Renewals = append(many.Renewals, one)
	}
	after := must(proto.Marshal(many)) // after an outage
	for _, one := range many.Renewals {
		one.Earlier = nil
	}
	calm := must(proto.Marshal(many))
	var others server.Caller
	for room, want := range map[int64][2]string{
		server.MostRoom / 2: {"", ""}, 7 << 20: {"resource_exhausted", ""},
		4 << 20: {"resource_exhausted", "resource_exhausted"},
	} {
		noError(t, w.service.Reserve(&others, server.MostRoom-room))
		got := [2]string{ask("RenewAll", "proto", unknown(after)), ask("RenewAll", "proto", unknown(calm))}
		if got != want {
			t.Errorf("with %d bytes of room: %q, want %q", room, got, want)
		}
		if code := ask("Renew", "json", strings.NewReader(`{}`)); code != "invalid_argument" {
			t.Errorf("a small request with %d bytes of room: %q", room, code)
		}
		w.service.Ended(&others)
	}
	noError(t, w.service.Reserve(&others, server.MostRoom)) // all was given back
}

// offered notes how much room its reader has, and is JSON of no request.
type offered struct{ most int }

func (o *offered) Read(p []byte) (int, error) {
	o.most = max(o.most, len(p))
	return copy(p, "{}"), io.EOF
}

// A small request that came slowly, or a small answer that was taken
// slowly, held the buffer of a large one before.
func TestSlowClientsHoldNoLargeBuffer(t *testing.T) {
	w, mux := start(t), http.NewServeMux()
	Mount(mux, w.service, func(*http.Request) (*server.Identity, error) { return w.who.Load(), nil }, plain)
	ask := func(body io.Reader) {
		r := httptest.NewRequest(http.MethodPost, "/snowfence.v1.LeaseService/RenewAll", body)
		r.Header.Set("Content-Type", "application/json")
		mux.ServeHTTP(httptest.NewRecorder(), r)
	}
	small := new(offered)
	for range 20 {
		ask(strings.NewReader("{" + strings.Repeat(" ", 1<<20) + "}"))
		ask(small)
	}
	if small.most == 0 || small.most > 4<<10 {
		t.Errorf("a small request was read into %d bytes", small.most)
	}
	answer := must(codec{"json"}.MarshalAppend(make([]byte, 0, 1<<20), &pb.NextResponse{Ids: []int64{1}}))
	if len(answer) == 0 || cap(answer) > server.RequestRoom {
		t.Errorf("%d bytes of an answer are in a buffer of %d", len(answer), cap(answer))
	}
}
