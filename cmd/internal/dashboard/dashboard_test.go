package dashboard

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// patience is how long a test waits for what should happen in a moment.
const patience = 2 * time.Minute

// bench is a dashboard over a store in memory.
type bench struct {
	*httptest.Server
	service *server.Service
	store   *store.Memory
	d       *Dashboard
	asked   int // requests
}

func newBench(t *testing.T, tokens ...server.Token) *bench {
	t.Helper()
	st := store.NewMemory()
	b := benchOver(t, st, server.Options{Label: "here"}, tokens...)
	b.store = st
	return b
}

// benchOver is a dashboard over any store.
func benchOver(t *testing.T, st store.Store, o server.Options, tokens ...server.Token) *bench {
	t.Helper()
	auth := server.Open()
	if len(tokens) > 0 {
		auth = must(server.NewAuth(tokens))
	}
	who := func(r *http.Request) (*server.Identity, error) {
		if id := auth.Anyone(); id != nil {
			return id, nil
		}
		secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return nil, server.NewError(server.Anonymous, errors.New("a token is needed"))
		}
		return auth.Identify(secret)
	}
	observed, latency := server.Observe(st, nil)
	b := &bench{service: server.New(store.Group(observed), o)}
	mux := http.NewServeMux()
	b.d = Mount(mux, Config{
		Service: b.service, Who: who, Latency: latency, Version: "test",
		Streaming: func(h http.Handler) http.Handler { return h }, Refused: func(*http.Request, error) {},
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.d.Close()
		b.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.service.Close(ctx); b.store != nil { // leases over a store that fails may have ended
			noError(t, err)
		}
	})
	return b
}

func (b *bench) namespace(t *testing.T, name, layout string) {
	t.Helper()
	m := &pb.CreateNamespaceRequest{Name: name, Layout: layout}
	must(b.service.Management.CreateNamespace(t.Context(), m))
}

// ask makes a request and returns the answer and its body.
func (b *bench) ask(t *testing.T, method, path, secret, body string) (*http.Response, string) {
	t.Helper()
	b.asked++
	r := must(http.NewRequestWithContext(t.Context(), method, b.URL+path, strings.NewReader(body)))
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp := must(client.Do(r))
	defer resp.Body.Close()
	text := must(io.ReadAll(resp.Body))
	return resp, string(text)
}

// follow opens a stream and calls see with each event until it returns
// true.
func (b *bench) follow(t *testing.T, path, secret string, see func(kind, data string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, b.URL+path, nil))
	r.Header.Set("Authorization", "Bearer "+secret)
	resp := must(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<22)
	kind := ""
	for in.Scan() {
		if k, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			kind = k
		} else if data, ok := strings.CutPrefix(in.Text(), "data: "); ok && see(kind, data) {
			return
		}
	}
	t.Fatalf("%s ended before what was waited for: %v", path, in.Err())
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func decodeJSON[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// The page is there, everything in it is too, and nothing that the policy
// would keep from running is in it.
func TestPage(t *testing.T) {
	b := newBench(t)
	if resp, _ := b.ask(t, "GET", "/", "", ""); resp.StatusCode != http.StatusFound ||
		resp.Header.Get("Location") != "/dashboard/" {
		t.Errorf("/: %s to %s", resp.Status, resp.Header.Get("Location"))
	}
	resp, page := b.ask(t, "GET", "/dashboard/", "", "")
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Fatal(resp.Status, resp.Header)
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the page is cached: %s", got)
	}
	found := 0
	for _, piece := range strings.Split(page, `"./`)[1:] {
		name, _, _ := strings.Cut(piece, `"`)
		resp, body := b.ask(t, "GET", "/dashboard/"+name, "", "")
		if resp.StatusCode != http.StatusOK || body == "" {
			t.Errorf("%s: %s", name, resp.Status)
		}
		if strings.HasPrefix(name, "assets/") && !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s may not be cached: %s", name, resp.Header.Get("Cache-Control"))
		}
		found++
	}
	if found < 3 {
		t.Errorf("the page has %d files", found)
	}
	for _, bad := range []string{"style=", "onclick", "<style", "<script>", "http://", "https://"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if resp, _ := b.ask(t, "GET", "/dashboard/../../etc/passwd", "", ""); resp.StatusCode == http.StatusOK {
		t.Error("what is not of the page is served")
	}
	if resp, _ := b.ask(t, "POST", "/dashboard/", "", ""); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", resp.Status)
	}
}

// Every answer carries the policy, answers of the API and refusals too.
func TestHeaders(t *testing.T) {
	b := newBench(t, server.Token{Name: "a", SHA256: hash("s")})
	for _, path := range []string{
		"/", "/dashboard/", "/dashboard/none", "/dashboard/api/none",
		"/dashboard/api/leases", "/dashboard/api/stream",
	} {
		resp, _ := b.ask(t, "GET", path, "", "")
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	open := strings.Contains(policy, "unsafe") || strings.Contains(policy, "*")
	if open || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Error("the policy is weak:", policy)
	}
}

// A browser without a token sees nothing, and one with a token sees the
// namespaces that it is for and no other, by no way.
func TestTokens(t *testing.T) {
	b := newBench(
		t, server.Token{Name: "orders", SHA256: hash("one"), Namespaces: []string{"orders"}},
		server.Token{Name: "writer", SHA256: hash("two"), Verbs: []server.Verb{server.VerbIDs}},
	)
	b.namespace(t, "orders", "twitter")
	b.namespace(t, "hidden", "sonyflake")
	for _, path := range []string{
		"GET /dashboard/api/stream", "GET /dashboard/api/watch?namespace=orders", "GET /dashboard/api/leases?namespace=orders", "POST /dashboard/api/decode",
	} {
		method, path, _ := strings.Cut(path, " ")
		for secret, want := range map[string]int{"": 401, "wrong": 401, "two": 403} {
			if resp, body := b.ask(t, method, path, secret, "{}"); resp.StatusCode != want {
				t.Errorf("%s with token %q: %s %s", path, secret, resp.Status, body)
			}
		}
	}
	for _, path := range []string{
		"GET /dashboard/api/watch?namespace=hidden",
		"GET /dashboard/api/leases?namespace=hidden", "POST /dashboard/api/decode",
	} {
		method, path, _ := strings.Cut(path, " ")
		if resp, body := b.ask(t, method, path, "one", `{"text":"1","namespace":"hidden"}`); resp.StatusCode != 403 {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	for _, name := range []string{"orders", "hidden"} {
		sp := must(b.service.Spaces.Find(t.Context(), name))
		sp.Made.Add(5)
	}
	seconds := 0
	b.follow(t, "/dashboard/api/stream", "one", func(kind, data string) bool {
		if strings.Contains(data, "hidden") {
			t.Errorf("%s tells of what the token is not for: %s", kind, data)
		}
		if kind == "namespaces" && !strings.Contains(data, `"orders"`) {
			t.Errorf("the namespace is missing: %s", data)
		}
		if kind == "sample" {
			seconds++
		}
		return seconds >= 3
	})
	resp, body := b.ask(t, "POST", "/dashboard/api/decode", "one", `{"text":"1000000"}`)
	if resp.StatusCode != http.StatusOK || strings.Contains(body, `"hidden"`) {
		t.Errorf("a guess: %s %s", resp.Status, body)
	}
}

// What a page asks counts for the rate of its token.
func TestRateOfTokens(t *testing.T) {
	b := newBench(t, server.Token{Name: "slow", SHA256: hash("slow"), Rate: 0.001, Burst: 2})
	b.namespace(t, "orders", "twitter")
	for _, path := range []string{
		"POST /dashboard/api/decode", "POST /dashboard/api/decode", // the rate is used up
		"POST /dashboard/api/decode", "GET /dashboard/api/leases?namespace=orders", "GET /dashboard/api/stream", "GET /dashboard/api/watch?namespace=orders",
	} {
		method, path, _ := strings.Cut(path, " ")
		resp, body := b.ask(t, method, path, "slow", "{}")
		if refused := resp.StatusCode == http.StatusTooManyRequests; refused != (b.asked > 2) {
			t.Errorf("%s: request %d: %s %s", path, b.asked, resp.Status, body)
		}
	}
}

// The rate goes up while IDs are made, and the first look tells of the
// past.
func TestStreamTellsRates(t *testing.T) {
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	sp := must(b.service.Spaces.Find(t.Context(), "orders"))
	b.follow(t, "/dashboard/api/stream", "", func(kind, data string) bool {
		sp.Made.Add(1000)
		b.service.Answered(server.RESP, 1000, 3*time.Millisecond, nil)
		b.service.Answered(server.RESP, 20, 300*time.Millisecond, nil)
		if kind != "sample" {
			return false
		}
		s := decodeJSON[sample](t, data)
		took, rpc := s.Wires["resp"], s.Wires["rpc"]
		return s.Total > 100 && rpc.Rate == 0 && took.Rate > 100 && took.P50 >= 3 && took.P50 < 4 &&
			took.P99 >= 300 && took.P99 < 400
	})
	b.follow(t, "/dashboard/api/stream", "", func(kind, data string) bool {
		if kind != "history" {
			return false
		}
		h := decodeJSON[history](t, data)
		if len(h.Times) == 0 || len(h.Rates) != len(h.Times) || len(h.Store.P99) != len(h.Times) ||
			len(h.Wires["resp"].P99) != len(h.Times) {
			t.Errorf("the history is not even: %s", data)
		}
		if _, ok := h.Wires["rpc"]; ok {
			t.Errorf("a wire without requests has a history: %s", data)
		}
		return true
	})
}

// A stream ends when the page goes, and all end when the server stops.
func TestStreamsEnd(t *testing.T) {
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	for _, path := range []string{"/dashboard/api/stream", "/dashboard/api/watch?namespace=orders"} {
		b.follow(t, path, "", func(kind, _ string) bool { return kind == "sample" || kind == "cells" })
	}
	none := func() bool {
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			b.d.sampler.mu.Lock()
			watching := b.d.sampler.pages
			b.d.sampler.mu.Unlock()
			all := new(server.Caller)
			given := b.service.Reserve(all, server.MostRoom) == nil
			b.service.Ended(all)
			if given && watching == 0 {
				return true
			}
		}
		return false
	}
	if !none() {
		t.Fatal("streams go on although the pages have gone")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, b.URL+"/dashboard/api/stream", nil))
	resp := must(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	b.d.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || !none() {
		t.Errorf("a stream goes on although the server stops: %v", err)
	}
}

// Streams are bounded, and who comes too late is told so.
func TestStreamsAreBounded(t *testing.T) {
	b := newBench(t)
	all := new(server.Caller)
	noError(t, b.service.Reserve(all, server.MostRoom))
	defer b.service.Ended(all)
	if resp, body := b.ask(t, "GET", "/dashboard/api/stream", "", ""); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// A lease shows in the map and in the list, with what is known of its
// holder.
func TestLeaseShows(t *testing.T) {
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	node := int64(37)
	l := must(lease.Open(t.Context(), b.store, "orders", s, &lease.Options{Node: &node, Label: "web <1>"}))
	defer func() {
		noError(t, l.Close())
	}()
	b.follow(t, "/dashboard/api/watch?namespace=orders", "", func(kind, data string) bool {
		if kind != "cells" {
			return false
		}
		c := decodeJSON[cells](t, data)
		got := make([]byte, c.Cells)
		apply(t, got, c.Runs)
		if c.Cells != 1024 || got[37] != cellHeld || c.Counts[cellHeld] != 1 {
			t.Errorf("%d cells, node 37 is %d, %v", c.Cells, got[37], c.Counts)
		}
		return true
	})
	resp, body := b.ask(t, "GET", "/dashboard/api/leases?namespace=orders&held=true&find=WEB", "", "")
	page := decodeJSON[leasePage](t, body)
	if resp.StatusCode != http.StatusOK || page.Total != 1 || leaseOf(t, page.Rows[0]).Node != 37 ||
		leaseOf(t, page.Rows[0]).Label != "web <1>" || page.Rows[0].Parts != "datacenter 1, worker 5" {
		t.Errorf("%s %s", resp.Status, body)
	}
	if leaseOf(t, page.Rows[0]).UntilTime.AsTime().Before(time.Now()) {
		t.Error("its time is over:", body)
	}
	for _, bad := range []string{"node=x", "limit=-1", "offset=1e9"} {
		if resp, _ := b.ask(t, "GET", "/dashboard/api/leases?namespace=orders&"+bad, "",
			""); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, resp.Status)
		}
	}
	if resp, _ := b.ask(t, "GET", "/dashboard/api/leases?namespace=none", "",
		""); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
	for b.service.Reserve(&server.Caller{}, server.MostRoom) != nil { // the page has some until it is gone
		time.Sleep(time.Millisecond)
	}
	if resp, _ := b.ask(t, "GET", "/dashboard/api/leases?namespace=orders", "",
		""); resp.StatusCode != http.StatusTooManyRequests {
		t.Error("a list without room:", resp.Status)
	}
}

// leaseOf returns the lease of a row.
func leaseOf(t *testing.T, r leaseRow) *pb.LeaseInfo {
	t.Helper()
	l := &pb.LeaseInfo{}
	noError(t, view.Read(r.Lease, l))
	return l
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError
