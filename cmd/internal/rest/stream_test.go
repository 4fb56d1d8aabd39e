package rest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A stream goes on until the client has enough; then nothing is held for
// it.
func TestStream(t *testing.T) {
	f := start(t)
	s := httptest.NewServer(f.mux)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := must(http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/default/stream", nil))
	res := must(http.DefaultClient.Do(req))
	lines := bufio.NewScanner(res.Body)
	last := ""
	for n := 0; n < 10_000 && lines.Scan(); n++ {
		if lines.Text() <= last || len(lines.Text()) != 19 {
			t.Fatalf("%q after %q", lines.Text(), last)
		}
		last = lines.Text()
	}
	res.Body.Close()
	cancel()
	s.Close() // waits for the handler
	all := new(server.Caller)
	noError(t, f.service.Reserve(all, server.MostRoom))
	f.service.Ended(all)
}

// A small answer that was taken slowly held the buffer of a large one.
func TestSlowClientsHoldNoLargeBuffer(t *testing.T) {
	large, h := make([]byte, 1<<20), &rest{bufs: sync.Pool{New: func() any { return new([]byte) }}}
	for _, n := range []int64{1, 2000} {
		h.bufs.Put(&large)
		if most := server.RequestRoom + n*textRoom; int64(cap(*h.takeBuffer(n))) > most {
			t.Errorf("an answer with %d texts is in a buffer of %d bytes", n, cap(large))
		}
	}
}

// Every request counts for the rate of its token, also one that fails.
func TestRateOfAllRequests(t *testing.T) {
	f := start(t)
	for _, path := range []string{
		"/v1/default/next", "/v1/missing/next", "/v1/default/decode/1",
		"/v1/default/range?from=1&to=2", "/v1/default/leases", "/v1/default", "/v1", "/v1?list=sequences", "/v1?list=x",
		"/v1/orders/sequence", "/v1/orders/sequence/next", "/v1/orders/sequence/next?n=x",
	} {
		a := must(server.NewAuth([]server.Token{{Name: "t", SHA256: sumOfSecret, Rate: 1e-9, Burst: 2}}))
		f.who, _ = a.Identify("secret")
		for i := range 3 {
			if code := f.do("GET", path, "").Code; (code == 429) != (i == 2) {
				t.Errorf("%s, request %d of 2: %d", path, i+1, code)
			}
		}
	}
}

const sumOfSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // the SHA-256 of "secret"

// A stream ends when its token loses the right to it.
func TestStreamOfALostRight(t *testing.T) {
	tokens := func(verbs ...server.Verb) *server.Auth {
		return must(server.NewAuth([]server.Token{{Name: "t", SHA256: sumOfSecret, Verbs: verbs}}))
	}
	f := start(t)
	before := tokens(server.VerbIDs, server.VerbRead)
	f.who, _ = before.Identify("secret")
	s := httptest.NewServer(f.mux)
	defer s.Close()
	res := must(http.Get(s.URL + "/v1/default/stream"))
	defer res.Body.Close()
	tokens(server.VerbRead).Replace(before)
	fails(t, errOf(io.Copy(io.Discard, res.Body)), "the stream came to a good end")
}
