package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"

	"connectrpc.com/connect"
)

// A busy server tells nobody the secret of an encrypted namespace, and no
// token: answers of all wires, errors, metrics, profiles, the dashboard and
// logs have neither. Only holders of leases get the secret, and only if a
// setting allows it.
func TestNothingLeaks(t *testing.T) {
	const secret, full, reader = "00112233445566778899aabbccddeeff", "token-that-may-do-everything",
		"token-that-may-read"
	for _, handOut := range []bool{false, true} {
		st := newStore(t)
		key := must(snowfence.ParseSecret([]byte(secret)))
		layout := must(snowfence.ParseLayout("randflake"))
		s := must(snowfence.NewScheme(layout, key))
		must(scope.Namespaces(st).Create(t.Context(), "hidden", s, nil))
		p, logs := start(t, Config{
			Listeners: Listeners{RESP: "127.0.0.1:0", Admin: "127.0.0.1:0"},
			Access: Access{TokenList: []server.Token{
				token("full", full, server.VerbIDs, server.VerbRead, server.VerbLease, server.VerbManage),
				token("reader", reader, server.VerbRead),
			}},
			Options: server.Options{HandOut: handOut, Keys: func(name string) ([]*snowfence.Secret, error) {
				if name == "hidden" {
					return []*snowfence.Secret{key}, nil
				}
				return nil, nil
			}},
		}, st)
		said := &strings.Builder{}
		var mu sync.Mutex
		hear := func(what string, text any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(said, "%s: %v\n", what, text)
		}
		base, admin := "http://"+p.HTTP, "http://"+p.Admin
		var busy sync.WaitGroup
		for _, who := range []string{full, reader, "", "wrong-" + full} {
			busy.Go(func() {
				for _, path := range []string{
					"/", "/v1", "/v1/hidden", "/v1/hidden/next", "/v1/hidden/next?n=100", "/v1/hidden/next?n=x", "/v1/hidden/next?runs=true", "/v1/hidden/decode/5",
					"/v1/hidden/range?from=1&to=2", "/v1/hidden/leases", "/v1/nothing/next", "/nothing", "/metrics", "/readyz", "/openapi.json",
					"/dashboard/", "/dashboard/api/leases?namespace=hidden", "/snowfence.v1.LeaseService/Acquire",
				} {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Authorization", "Bearer "+who)
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					body, _ := io.ReadAll(res.Body)
					res.Body.Close()
					hear(path, fmt.Sprint(res.Header, string(body)))
				}
				c := dialRESP(t, p)
				for _, command := range []string{
					"AUTH " + who + "x", "AUTH " + who, "HELLO 2 AUTH a " + who, "SNOWFENCE.NEXT hidden", "SNOWFENCE.NEXT hidden COUNT x", "SNOWFENCE.DECODE hidden 5",
					"SNOWFENCE.RANGE hidden 1 2", "NONSENSE", "CLIENT LIST", "INFO",
				} {
					if who == "" && strings.HasPrefix(command, "AUTH") {
						continue
					}
					if strings.HasPrefix(who, "wrong") && strings.HasPrefix(command, "HELLO") {
						continue // the third wrong token ends the connection
					}
					c.heard = func(text string) { hear("resp", text) }
					c.ask(command)
				}
			})
		}
		busy.Wait()
		leases := snowfencev1connect.NewLeaseServiceClient(http.DefaultClient, base)
		for _, who := range []string{full, reader} {
			req := connect.NewRequest(&pb.AcquireRequest{Namespace: "hidden", Label: "a"})
			req.Header().Set("Authorization", "Bearer "+who)
			res, err := leases.Acquire(t.Context(), req)
			if may := handOut && who == full; may != (err == nil && len(res.Msg.Secrets) == 1 &&
				string(res.Msg.Secrets[0]) == secret) {
				t.Errorf("secrets for %s with hand-out %v: %v %v", who, handOut, res, err)
			}
			hear("acquire", err)
		}
		for _, path := range []string{
			"/", "/metrics", "/readyz", "/debug/pprof/", "/debug/pprof/goroutine?debug=2",
			"/debug/pprof/heap?debug=1", "/debug/pprof/cmdline",
		} {
			_, body := get(t, admin+path, "")
			hear(path, body)
		}
		hear("log", logs.String())
		if n := said.Len(); n < 10_000 {
			t.Errorf("only %d bytes were said", n)
		}
		for _, what := range []string{secret, strings.ToUpper(secret), full, reader} {
			if i := strings.Index(said.String(), what); i >= 0 {
				t.Errorf("%s is in what the server said: …%s", what, said.String()[max(0, i-200):i])
			}
		}
	}
}
