package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// metric returns the value of a series, "" where there is none.
func metric(t *testing.T, p *Process, series string) string {
	t.Helper()
	_, text := get(t, "http://"+p.Admin+"/metrics", "")
	m := regexp.MustCompile("(?m)^snowfence_" + regexp.QuoteMeta(series) + " (.*)$").FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// Nobody could tell who had deleted a namespace, and from where. Each call
// of a manager is a line.
func TestManagersAreLogged(t *testing.T) {
	boss, shop := token("boss", "secret-boss", server.VerbManage, server.VerbRead), token("shop", "secret-shop", "read")
	p, logs := start(t, Config{Access: Access{TokenList: []server.Token{boss, shop}}}, newStore(t))
	base := "http://" + p.HTTP
	const rpc = "/snowfence.v1."
	for _, call := range []struct{ method, path, body, want string }{
		{"PUT", "/v1/orders", "{}", `NamespaceService/Create asked="{\"name\":\"orders\"}"`},
		{"PATCH", "/v1/orders", `{"last_node":3}`, `NamespaceService/Change asked="{\"name\":\"orders\"`},
		{"DELETE", "/v1/orders?confirm=wrong", "", `who=boss from=127.0.0.1:`},
		{"POST", rpc + "NamespaceService/Delete", `{"name":"orders","confirm":"orders"}`, "NamespaceService/Delete"},
		{"PUT", "/v1/bills/sequence", "{}", "SequenceService/Create"},
		{"PATCH", "/v1/bills/sequence", `{"max":"99"}`, "SequenceService/Change"},
		{"POST", "/v1/bills/sequence/confirm", `{"floor":"5"}`, "SequenceService/Confirm"},
		{"POST", rpc + "SequenceService/Delete", `{"name":"bills","confirm":"bills"}`, "SequenceService/Delete"},
		{"PUT", "/v1/default/leases/5/veto", `{"reason":"its rack is on fire"}`, "its rack is on fire"},
		{"POST", rpc + "LeaseService/ReleaseNode", `{"namespace":"default","node":"5"}`, "LeaseService/ReleaseNode"},
	} {
		before := len(logs.String())
		ask(t, call.method, base+call.path, "secret-boss", call.body)
		said := logs.String()[before:]
		line := regexp.MustCompile(`(?m)^.*msg=managed .*$`).FindAllString(said, -1)
		if len(line) != 1 || !strings.Contains(strings.ReplaceAll(line[0], ": ", ":"), call.want) ||
			strings.Contains(line[0], "cause=") != strings.Contains(call.path, "wrong") {
			t.Errorf("%s %s: %q, want one line with %s", call.method, call.path, line, call.want)
		}
	}
	for range 2000 { // strangers and tokens without rights filled the log, with names of their choice
		ask(t, "PATCH", base+"/v1/stranger", "none", `{"last_node":3}`)
		ask(t, "PATCH", base+"/v1/stranger", "secret-shop", `{"last_node":3}`)
	}
	if n := strings.Count(logs.String(), `level=WARN msg="a request was refused"`); n < 2 || n > 4 {
		t.Errorf("%d lines about requests that were refused", n)
	}
	if n := strings.Count(logs.String(), "msg=managed"); n != 10 {
		t.Errorf("%d calls of managers, not 10", n)
	}
}

// Wrong tokens were counted on some wires only, and said nowhere.
func TestRefusedCallersAreCounted(t *testing.T) {
	c := Config{
		Listeners: Listeners{Admin: "127.0.0.1:0", RESP: "127.0.0.1:0"},
		Access:    Access{TokenList: []server.Token{token("shop", "secret-shop", server.VerbIDs)}},
	}
	p, logs := start(t, c, newStore(t))
	base := "http://" + p.HTTP
	for range 3 {
		get(t, base+"/v1/default/next", "wrong")
		get(t, base+"/metrics", "wrong")
		get(t, base+"/dashboard/api/leases?namespace=default", "wrong")
		ask(t, "POST", base+"/snowfence.v1.IDService/Next", "wrong", "")
	}
	get(t, base+"/metrics", "secret-shop") // which may make IDs only
	r := dialRESP(t, p)
	r.ask("SNOWFENCE.NEXT default")
	r.ask("AUTH wrong")
	for series, want := range map[string]string{
		`failures_total{kind="unauthenticated",wire="http"}`: "9",
		`failures_total{kind="denied",wire="http"}`:          "1",
		`failures_total{kind="unauthenticated",wire="resp"}`: "2",
	} {
		if got := metric(t, p, series); got != want {
			t.Errorf("%s %s, not %s", series, got, want)
		}
	}
	if n := strings.Count(logs.String(), `level=WARN msg="a request was refused"`); n < 3 || n > 4 {
		t.Errorf("said %d times, not once for each wire and kind:\n%s", n, logs)
	}
}

// A client that leaves looked like a failure of the server.
func TestClientsThatLeaveAreNoFailures(t *testing.T) {
	p, logs := start(t, Config{
		Listeners: Listeners{Admin: "127.0.0.1:0"}, Options: server.Options{MaxWait: time.Hour},
	}, laterStore(t))
	for _, path := range []string{"/v1/default/next", "/snowfence.v1.IDService/Next"} {
		ctx, cancel := context.WithCancel(t.Context())
		wire, body := "http", io.Reader(nil)
		if strings.Contains(path, "IDService") {
			wire, body = "rpc", strings.NewReader("{}")
		}
		req := must(http.NewRequestWithContext(ctx, "POST", "http://"+p.HTTP+path, body))
		req.Header.Set("Content-Type", "application/json")
		over := make(chan error)
		go func() { // the ID comes in half an hour
			res, err := http.DefaultClient.Do(req)
			if err == nil {
				res.Body.Close()
			}
			over <- err
		}()
		eventually(t, "the request has come", func() bool {
			return metric(t, p, `requests_total{wire="`+wire+`"}`) != "0"
		})
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		series := `request_seconds_count{wire="` + wire + `"}`
		eventually(t, "its end", func() bool { return metric(t, p, series) != "0" })
		if n := metric(t, p, `failures_total{kind="unavailable",wire="`+wire+`"}`) +
			metric(t, p, `failures_total{kind="exhausted",wire="`+wire+`"}`); n != "00" {
			t.Errorf("%s: failures %s", wire, n)
		}
	}
	if strings.Contains(logs.String(), "a request failed") {
		t.Error(logs)
	}
}

// The counter of IDs fell when a namespace was changed, which looks like a
// restart.
func TestIDsTotalNeverFalls(t *testing.T) {
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0"}}, newStore(t))
	base := "http://" + p.HTTP
	take := func() {
		t.Helper()
		eventually(t, "IDs", func() bool { code, _ := get(t, base+"/v1/default/next?n=10", ""); return code == 200 })
	}
	take()
	ask(t, "PATCH", base+"/v1/default", "", `{"layout":"time=41,node=9,seq=13,epoch=1990-01-01","widen":true}`)
	sp := p.Service().Spaces.List()
	take()
	if got := metric(t, p, `ids_total{namespace="default"}`); got != "20" {
		t.Errorf("%s IDs, not 20 (%d namespaces)", got, len(sp))
	}
}

// Each wire has one name in all series.
func TestWiresHaveOneName(t *testing.T) {
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0", RESP: "127.0.0.1:0"}}, newStore(t))
	get(t, "http://"+p.HTTP+"/v1/default/next", "")
	ids := snowfencev1connect.NewIDServiceClient(http.DefaultClient, "http://"+p.HTTP)
	for range 2 {
		must(ids.Next(t.Context(), connect.NewRequest(&pb.NextRequest{})))
	}
	r := dialRESP(t, p)
	for range 3 {
		r.ask("SNOWFENCE.NEXT default")
	}
	for wire, want := range map[string]string{"http": "1", "rpc": "2", "resp": "3"} {
		eventually(t, wire+" "+want, func() bool {
			return metric(t, p, `requests_total{wire="`+wire+`"}`) == want &&
				metric(t, p, `request_seconds_count{wire="`+wire+`"}`) == want
		})
	}
	_, text := get(t, "http://"+p.Admin+"/metrics", "")
	for _, m := range regexp.MustCompile(`wire="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if m[1] != "http" && m[1] != "rpc" && m[1] != "resp" {
			t.Errorf("a wire %s", m[1])
		}
	}
}

// A stream of few IDs kept them in a buffer until there were thousands.
func TestStreamFlushes(t *testing.T) {
	slow := token("slow", "secret-slow", server.VerbIDs)
	slow.Rate, slow.Burst = 0.001, 1 // the next ID comes in a quarter of an hour
	p, _ := start(t, Config{Access: Access{TokenList: []server.Token{slow}}}, newStore(t))
	req := must(http.NewRequestWithContext(t.Context(), "GET", "http://"+p.HTTP+"/v1/default/stream", nil))
	req.Header.Set("Authorization", "Bearer secret-slow")
	res := must(http.DefaultClient.Do(req))
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || len(line) < 10 {
		t.Errorf("%q, %v", line, err)
	}
}

// Profiles show parts of the memory, and were there for all who read
// metrics.
func TestPprofIsOff(t *testing.T) {
	for on, want := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0", Pprof: on}}, newStore(t))
		if code, _ := get(t, "http://"+p.Admin+"/debug/pprof/heap", ""); code != want {
			t.Errorf("%v: %d", on, code)
		}
		_, index := get(t, "http://"+p.Admin+"/", "")
		if strings.Contains(index, "pprof") != on {
			t.Errorf("%v: %s", on, index)
		}
	}
}

// While draining, answers tell clients of HTTP/1.1 to go, and at the stop
// each request that was sent gets an answer, over HTTP and over the Redis
// protocol.
func TestStopAnswersBusyClients(t *testing.T) {
	p, _ := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0"}, Stopping: Stopping{Drain: time.Nanosecond},
	}, newStore(t))
	url := "http://" + p.HTTP + "/v1/default/next"
	res := must(http.Get(url))
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.Close {
		t.Error("the connection ends although nothing stops")
	}
	var answered, closed atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		all.Go(func() {
			transport := &http.Transport{MaxIdleConnsPerHost: 1, Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(i%2 == 0)
			transport.Protocols.SetUnencryptedHTTP2(i%2 == 1) // as clients of gRPC do
			client := &http.Client{Transport: transport}
			var used bool // the connection, before
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(c httptrace.GotConnInfo) { used = c.Reused },
			})
			for last := time.Now(); ; last = time.Now() { // the last answer
				used = false
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
				if err != nil {
					t.Error(err)
					return
				}
				res, err := client.Do(req) // which does not repeat a POST by itself
				if err != nil {
					select {
					case <-stop:
					default:
						t.Errorf("before the stop: %v", err)
					}
					// The listener is closed, and the kernel resets what
					// was not accepted. A connection that was cut says
					// reset or EOF: a stalled client may meet one.
					text, stalled := err.Error(), time.Since(last) >= silence/2
					if !stalled && !strings.Contains(text, "refused") && (used || !strings.Contains(text, "reset")) {
						t.Error(text)
					}
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				answered.Add(1)
				if res.Close {
					closed.Add(1)
				}
			}
		})
	}
	eventually(t, "requests", func() bool { return answered.Load() > 100 })
	r := dialRESP(t, p)
	if got := r.ask("PING"); got != "+PONG" { // or it might not have been accepted before the stop
		t.Fatal(got)
	}
	must(fmt.Fprint(r.c, strings.Repeat("SNOWFENCE.NEXT default\r\n", 1000)))
	close(stop)
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	defer cancel()
	noError(t, p.Stop(ctx))
	all.Wait()
	if closed.Load() == 0 {
		t.Error("no answer told its client to go")
	}
	for i := range 1000 {
		if line, err := r.r.ReadString('\n'); err != nil {
			t.Fatalf("reply %d: %q, %v", i, line, err)
		}
	}
}
