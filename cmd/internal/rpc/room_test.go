package rpc

import (
	"bytes"
	"io"
	"net/http"
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		code := ask("RenewAll", kind, unknown(b))
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; code != "invalid_argument" || took > 40 {
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
