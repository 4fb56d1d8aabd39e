package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A store that fails with its password in the error: no wire repeats it,
// nor where the store is and who the server is to it; the log and the admin
// address have all but the password.
func TestStoreErrorsAreDiscreet(t *testing.T) {
	const password, host = "hunter2-of-the-store", "db.example:5432"
	st := newStore(t)
	st.cause = errors.New("dialing postgres://ids:" + password + "@" + host + " failed")
	p, logs := start(t, Config{
		Listeners: Listeners{RESP: "127.0.0.1:0", Admin: "127.0.0.1:0"},
		Hide:      func(text string) string { return strings.ReplaceAll(text, password, "…") },
	}, st)
	eventually(t, "the server is ready", func() bool { return p.Ready() == nil })
	st.cut.Store(true)
	eventually(t, "the server has noticed", func() bool { return p.Ready() != nil })

	var mu sync.Mutex
	said := map[string]string{}
	hear := func(what, text string) { mu.Lock(); defer mu.Unlock(); said[what] += text + "\n" }
	base := "http://" + p.HTTP
	for _, path := range []string{
		"GET /v1", "GET /v1?list=sequences", "PUT /v1/bills/sequence {}", "GET /v1/bills/sequence/next",
		`PUT /v1/default/leases/5/veto {"reason":"x"}`, "GET /v1/default", "GET /v1/other/next", "PUT /v1/other {}", `PATCH /v1/default {"layout":"sonyflake"}`, "DELETE /v1/default?confirm=default", "GET /v1/default/leases",
		"POST /snowfence.v1.IDService/Next {\"namespace\":\"other\"}", `POST /snowfence.v1.LeaseService/Acquire {"label":"x"}`,
		`POST /snowfence.v1.NamespaceService/List {}`,
		"GET /dashboard/api/leases?namespace=default", "GET /readyz",
	} {
		words := append(strings.SplitN(path, " ", 3), "")
		req := must(http.NewRequestWithContext(t.Context(), words[0], base+words[1], strings.NewReader(words[2])))
		req.Header.Set("Content-Type", "application/json")
		res := must(http.DefaultClient.Do(req))
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		hear(path, fmt.Sprint(res.Header, string(body)))
		if res.StatusCode < 400 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	c := dialRESP(t, p)
	c.heard = func(text string) { hear("resp", text) }
	for _, command := range []string{
		"SNOWFENCE.NEXT other", "SNOWFENCE.DECODE other 5", "INCR bills", "GET bills", "INFO",
	} {
		c.ask(command)
	}
	_, admin := get(t, "http://"+p.Admin+"/readyz", "")
	stream := must(http.NewRequestWithContext(t.Context(), http.MethodGet,
		base+"/dashboard/api/stream?namespace=default", nil))
	res := must(http.DefaultClient.Do(stream))
	first, _ := bufio.NewReader(res.Body).ReadString('\n')
	res.Body.Close()
	for what, text := range said {
		if strings.Contains(text, host) {
			t.Errorf("%s says where the store is: %s", what, text)
		}
	}
	said["log"], said["admin"], said["dashboard"] = logs.String(), admin, first
	for what, text := range said {
		if strings.Contains(text, password) {
			t.Errorf("%s says the password: %s", what, text)
		}
	}
	for _, what := range []string{"log", "admin"} {
		if !strings.Contains(said[what], host) {
			t.Errorf("%s does not say which store failed: %s", what, said[what])
		}
	}
	if text := said["GET /v1"]; !strings.Contains(text, "the server's log says how") {
		t.Errorf("a caller hears nothing of the log: %s", text)
	}
}
