package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// A client certificate opened the door and said nothing about who came: a
// name in it has rights as a token has, over all wires.
func TestRightsByCertificateName(t *testing.T) {
	ca, cert, key := newCertificate(t) // for "somebody"
	c := Config{
		Listeners: Listeners{RESP: "127.0.0.1:0", Admin: "127.0.0.1:0"},
		Access: Access{TLSCert: cert, TLSKey: key, TokenList: []server.Token{
			{Name: "shop", Certificate: "CN=somebody", Verbs: []server.Verb{server.VerbIDs}},
			token("reader", "secret-reader", server.VerbRead),
		}},
	}
	says(t, errOf(CheckFiles(c)), "tls-client-ca", "a name of certificates that no client shows")
	c.TLSClientCA = ca.file
	p, logs := start(t, c, newStore(t))
	pair := must(tls.LoadX509KeyPair(cert, key))
	conf := &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{pair}}
	conf.RootCAs.AddCert(ca.cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf}}
	status := func(method, path, token, body string) int {
		req := must(http.NewRequestWithContext(t.Context(), method, "https://"+p.HTTP+path, strings.NewReader(body)))
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res := must(client.Do(req))
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	const rpc = "/snowfence.v1.IDService/"
	for _, c := range []struct {
		method, path, token, body string
		want                      int
	}{
		{"GET", "/v1/default/next", "", "", 200},
		{"GET", "/v1/default", "", "", 403},
		{"POST", rpc + "Next", "", "{}", 200},
		{"POST", rpc + "Decode", "", `{"id":"1"}`, 403},
		{"GET", "/v1/default/next", "secret-reader", "", 403}, // a token says more than a certificate
		{"GET", "/v1/default", "secret-reader", "", 200},
		{"GET", "/v1/default/next", "wrong", "", 401},
	} {
		if got := status(c.method, c.path, c.token, c.body); got != c.want {
			t.Errorf("%s %s with token %q: %d, not %d", c.method, c.path, c.token, got, c.want)
		}
	}
	conn := must(tls.Dial("tcp", p.RESP, conf))
	defer conn.Close()
	r := newRESPClient(t, conn)
	for _, c := range [][2]string{
		{"SNOWFENCE.NEXT default", "$"},
		{"SNOWFENCE.DECODE default 1", "-NOPERM"},
		{"AUTH wrong", "-WRONGPASS"},
		{"SNOWFENCE.NEXT default", "-NOAUTH"}, // AUTH failed, so the certificate does not count
		{"RESET", "+RESET"},
		{"SNOWFENCE.NEXT default", "$"},
		{"AUTH secret-reader", "+OK"},
		{"SNOWFENCE.NEXT default", "-NOPERM"},
	} {
		got := r.ask(c[0])
		if !strings.HasPrefix(got, c[1]) && !(c[1] == "$" && strings.HasPrefix(got, ":")) {
			t.Errorf("%s: %s, not %s", c[0], got, c[1])
		}
	}
	if text := logs.String(); strings.Count(text, `wire=resp request=SNOWFENCE.DECODE namespace=default token=shop certificate="CN=somebody"`) != 1 {
		t.Errorf("the log does not name the certificate:\n%s", text)
	}
	// Over HTTP, gRPC and the Redis protocol: 4 IDs, and 3 requests that
	// were refused.
	for series, want := range map[string]string{
		`token_spent_total{token="shop"}`: "4", `token_refused_total{token="shop"}`: "3",
		`token_spent_total{token="reader"}`: "1", `token_refused_total{token="reader"}`: "2",
	} {
		if got := metric(t, p, series); got != want {
			t.Errorf("%s %s, not %s", series, got, want)
		}
	}
	other := c
	other.TokenList = []server.Token{
		{Name: "shop", Certificate: "CN=somebody else", Verbs: []server.Verb{server.VerbIDs}},
	}
	noError(t, p.Reload(other))
	if got := status("GET", "/v1/default/next", "", ""); got != 401 {
		t.Errorf("a name that was taken away: %d", got)
	}
}

// callNext calls the method Next of the service over Connect, and returns
// the status.
func callNext(t *testing.T, p *Process, token, body string) int {
	t.Helper()
	code, _ := ask(t, "POST", "http://"+p.HTTP+"/snowfence.v1.IDService/Next", token, body)
	return code
}

// A token that ends soon, or has ended, was refused one day without a word
// before.
func TestTokenThatEndsSoon(t *testing.T) {
	for _, c := range []struct {
		left time.Duration
		says string
	}{{time.Hour, "ends at"}, {100 * 24 * time.Hour, ""}, {-time.Minute, "ended at"}} {
		k := token("shop", "secret-shop", server.VerbIDs)
		k.Until.Time = time.Now().Add(c.left).Truncate(time.Second)
		file := filepath.Join(t.TempDir(), "tokens.yaml")
		text := fmt.Sprintf("tokens:\n  - {name: shop, sha256: %s, until: %s}\n", k.SHA256,
			k.Until.Format(time.RFC3339))
		noError(t, os.WriteFile(file, []byte(text), 0o600))
		ends, err := CheckFiles(Config{Listeners: Listeners{HTTP: "127.0.0.1:0"}, Access: Access{Tokens: file}})
		if err != nil || (len(ends.Tokens) > 0) != (c.says != "") || len(ends.Endless) != 0 {
			t.Errorf("%v left: %+v, %v", c.left, ends, err)
		}
		p, logs := start(t, Config{
			Listeners: Listeners{Admin: "127.0.0.1:0", RESP: "127.0.0.1:0"}, Access: Access{Tokens: file},
		}, newStore(t))
		if said := strings.Contains(logs.String(), `msg="token \"shop\" `+c.says); said != (c.says != "") {
			t.Errorf("%v left: %s", c.left, logs)
		}
		got := metric(t, p, `token_expiry_timestamp_seconds{token="shop"}`)
		if at := 0.0; got != "" {
			if _, err := fmt.Sscan(got, &at); err != nil || int64(at) != k.Until.Unix() {
				t.Errorf("%v left: the metric says %s", c.left, got)
			}
		} else {
			t.Errorf("%v left: no metric", c.left)
		}
		want, reply := 200, "+OK"
		if c.left < 0 {
			want = 401
		}
		if got, body := get(t, "http://"+p.HTTP+"/v1/default/next", "secret-shop"); got != want {
			t.Errorf("%v left: %d, %s", c.left, got, body)
		}
		if got := callNext(t, p, "secret-shop", "{}"); got != want {
			t.Errorf("%v left: gRPC: %d", c.left, got)
		}
		r := dialRESP(t, p)
		if got := r.ask("AUTH secret-shop"); got != reply {
			t.Errorf("%v left: AUTH: %s", c.left, got)
		}
		if got := r.ask("SNOWFENCE.NEXT default"); strings.HasPrefix(got, "-NOAUTH") != (want == 401) {
			t.Errorf("%v left: %s", c.left, got)
		}
	}
}

// Clients without tokens could ask for any number of IDs a second. The rate
// is for all together, over all wires.
func TestRateWithoutTokens(t *testing.T) {
	c := Config{Listeners: Listeners{RESP: "127.0.0.1:0", Admin: "127.0.0.1:0"}, Access: Access{Rate: 10}}
	p, _ := start(t, c, newStore(t))
	if code, body := get(t, "http://"+p.HTTP+"/v1/default/next?n=11", ""); code != 429 ||
		!strings.Contains(body, "all clients together") {
		t.Errorf("%d: %s", code, body)
	}
	refused := func() bool { // within ten of any second
		r := dialRESP(t, p)
		must(r.c.Write(bytes.Repeat([]byte("SNOWFENCE.NEXT default\r\n"), 1000)))
		for range 1000 {
			line := must(r.r.ReadString('\n'))
			if strings.HasPrefix(line, "$") {
				_, _ = r.r.ReadString('\n')
			}
			if strings.HasPrefix(line, "-LIMIT") {
				return true
			}
		}
		return false
	}
	eventually(t, "a refusal over the redis protocol", refused)
	eventually(t, "a refusal over gRPC", func() bool { return callNext(t, p, "", `{"count":10}`) == 429 })
	if got, _ := get(t, "http://"+p.Admin+"/metrics", ""); got != 200 {
		t.Errorf("metrics of the admin address are limited: %d", got)
	}
	c.Rate = 0
	noError(t, p.Reload(c))
	if code, body := get(t, "http://"+p.HTTP+"/v1/default/next?n=1000", ""); code != 200 {
		t.Errorf("after the rate was taken away: %d, %s", code, body)
	}
	c.Rate, c.TokenList = 1, []server.Token{token("a", "secret-a")}
	says(t, errOf(CheckFiles(c)), "rate of its own", "beside tokens")
}

// A token for some namespaces showed what clients of other tokens asked
// for.
func TestTokensAreShownToWhoSeesAll(t *testing.T) {
	some := token("some", "secret-some", server.VerbRead)
	some.Namespaces = []string{"default"}
	p, _ := start(t, Config{
		Access: Access{TokenList: []server.Token{some, token("all", "secret-all", server.VerbRead)}},
	}, newStore(t))
	for secret, want := range map[string]bool{"secret-some": false, "secret-all": true} {
		_, text := get(t, "http://"+p.HTTP+"/metrics", secret)
		if strings.Contains(text, "snowfence_token_") != want {
			t.Errorf("%s: %v", secret, !want)
		}
	}
}
