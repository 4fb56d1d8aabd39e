package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// ask makes a request with a token and headers, and returns the status and the answer.
func ask(t *testing.T, method, url, token, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// To free a node, an operator needed a shell with the password of the store.
func TestNodesAreReleasedAndVetoedOverTheAPI(t *testing.T) {
	st := newStore(t)
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Namespaces(st).Create(t.Context(), "orders", s, &lease.NamespaceOptions{
		Nodes: snowfence.NodeRange{Until: 101},
	}); err != nil { // in which the server leases nothing
		t.Fatal(err)
	}
	five := int64(5)
	if _, err := lease.Serve(st, s, nil).Acquire(t.Context(), "orders",
		wire.Request{Node: &five, Label: "gone"}); err != nil {
		t.Fatal(err)
	}
	p, logs := start(t, Config{TokenList: []server.Token{
		token("boss", "secret-boss", server.VerbManage), token("shop", "secret-shop", server.VerbIDs, server.VerbRead,
			server.VerbLease),
	}}, st)
	base := "http://" + p.HTTP
	const rpc = "/snowfence.v1.LeaseService/"
	for _, c := range []struct {
		what, method, path, token, body string
		code                            int
		held                            bool
		veto, line                      string
	}{
		{
			"released", "DELETE", "/v1/orders/leases/5", "boss", "", 200, false, "",
			`request="DELETE /v1/{namespace}/leases/{node}" namespace=orders node=5`,
		},
		{
			"released again", "DELETE", "/v1/orders/leases/5", "boss", "", 200, false, "",
			`request="DELETE /v1/{namespace}/leases/{node}" namespace=orders node=5`,
		},
		{
			"vetoed", "PUT", "/v1/orders/leases/7/veto", "boss", `{"reason":"its rack is on fire"}`, 200, false,
			"its rack is on fire", `request="PUT /v1/{namespace}/leases/{node}/veto" namespace=orders node=7`,
		},
		{
			"lifted", "DELETE", "/v1/orders/leases/7/veto", "boss", "", 200, false, "",
			`request="DELETE /v1/{namespace}/leases/{node}/veto" namespace=orders node=7`,
		},
		{
			"vetoed over Connect", "POST", rpc + "Veto", "boss", `{"namespace":"orders","node":"8","reason":"old"}`, 200, false, "old",
			`request=/snowfence.v1.LeaseService/Veto namespace=orders node=8`,
		},
		{
			"released over Connect", "POST", rpc + "ReleaseNode", "boss", `{"namespace":"orders","node":"8"}`, 200, false,
			"old", `request=/snowfence.v1.LeaseService/ReleaseNode namespace=orders node=8`,
		},
		{
			"lifted over Connect", "POST", rpc + "Veto", "boss", `{"namespace":"orders","node":"8"}`, 200, false, "",
			`request=/snowfence.v1.LeaseService/Veto namespace=orders node=8`,
		},
		{
			"widened", "PATCH", "/v1/orders", "boss", `{"last_node":200,"widen":true}`, 200, false, "",
			`request="PATCH /v1/{namespace}" namespace=orders`,
		},
		{
			"widened over Connect", "POST", "/snowfence.v1.NamespaceService/Change", "boss",
			`{"name":"orders","lastNode":"300","widen":true}`, 200, false, "",
			"request=/snowfence.v1.NamespaceService/Change namespace=orders",
		},
		{
			"without the verb", "DELETE", "/v1/orders/leases/5", "shop", "", 403, false, "",
			"result=denied", // with the rest below
		},
		{"a veto without the verb", "PUT", "/v1/orders/leases/5/veto", "shop", `{"reason":"x"}`, 403, false, "", ""},
		{"the end of one without the verb", "DELETE", "/v1/orders/leases/5/veto", "shop", "", 403, false, "", ""},
		{"Connect without the verb", "POST", rpc + "ReleaseNode", "shop", `{"namespace":"orders","node":"5"}`, 403, false, "", ""},
		{"Connect's veto without it", "POST", rpc + "Veto", "shop", `{"namespace":"orders","node":"5","reason":"x"}`, 403, false, "", ""},
	} {
		before := strings.Count(logs.String(), "msg=managed")
		code, text := ask(t, c.method, base+c.path, "secret-"+c.token, c.body, "Content-Type", "application/json")
		if code != c.code {
			t.Errorf("%s: %d %s", c.what, code, text)
			continue
		}
		if n := strings.Count(logs.String(), "msg=managed"); n != before+1 {
			t.Errorf("%s left %d lines", c.what, n-before)
		}
		if !strings.Contains(logs.String(), c.line) || !strings.Contains(logs.String(), "token="+c.token) {
			t.Errorf("%s: no line has %s:\n%s", c.what, c.line, logs)
		}
		var l struct {
			Held bool
			Veto string
		}
		err := json.Unmarshal([]byte(text), &l)
		if c.code == 200 && (err != nil || l.Held != c.held || l.Veto != c.veto) {
			t.Errorf("%s: %v %s", c.what, err, text)
		}
	}
	rs, err := lease.Namespaces(st).Leases(t.Context(), "orders")
	if err != nil || len(rs) != 3 || rs[0].Node != 5 || rs[0].Holder != "" {
		t.Errorf("%v, %v", rs, err)
	}
}

// The page of another site could evict holders through the browser of an operator, on a server that
// asks nobody for a token.
func TestPagesOfOtherSitesManageNothing(t *testing.T) {
	st := newStore(t)
	if _, err := lease.Namespaces(st).Veto(t.Context(), "default", 5, "by hand"); err != nil {
		t.Fatal(err)
	}
	p, _ := start(t, Config{}, st)
	for _, r := range [][2]string{
		{"DELETE", "/v1/default/leases/5"},
		{"PUT", "/v1/default/leases/5/veto"},
		{"DELETE", "/v1/default/leases/5/veto"},
		{"PATCH", "/v1/default"},
		{"POST", "/snowfence.v1.LeaseService/ReleaseNode"},
		{"POST", "/snowfence.v1.LeaseService/Veto"},
	} {
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example"},
			{"Host", "evil.example"},
		} {
			url := "http://" + p.HTTP + r[1]
			header = append(header, "Content-Type", "application/json")
			req, err := http.NewRequestWithContext(t.Context(), r[0], url, strings.NewReader(`{"node":"5"}`))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				req.Header.Set(header[i], header[i+1])
			}
			if header[0] == "Host" {
				req.Host = header[1]
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with %s: %d", r[0], r[1], header[:2], res.StatusCode)
			}
		}
	}
	rs, err := lease.Namespaces(st).Leases(t.Context(), "default")
	if err != nil || rs[0].Veto != "by hand" {
		t.Errorf("%v, %v", rs, err)
	}
}
