package serve

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Every combination of listener, address, TLS, tokens, client certificates
// and permission: other machines reach a listener only with TLS and a known
// client, or where it was said in words.
func TestWhoReachesWhat(t *testing.T) {
	addresses := map[string]bool{ // whether only this machine reaches them
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "127.9.9.9:0": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "10.1.2.3:0": false, "[fe80::1%eth0]:0": false, "example.com:0": false, "127.1:0": false, "*:0": false,
		"127.0.0.1.example.com:0": false, "localhost.example.com:0": false,
	}
	opens := [][]string{nil, {"http"}, {"resp"}, {"admin"}, {"http", "resp", "admin"}, {"all"}}
	said := func(open []string, name string) bool {
		all := strings.Join(open, " ")
		return strings.Contains(all, name) || all == "all"
	}
	for address, local := range addresses {
		for i := range 3 * 2 * 3 * len(opens) {
			name := []string{"http", "resp", "admin"}[i%3]
			secure := i/3%2 == 1
			known := []string{"", "tokens", "certificates"}[i/6%3]
			open := opens[i/18]
			c := Config{Listeners: Listeners{HTTP: "127.0.0.1:0"}, Access: Access{OpenToNetwork: open}}
			switch name {
			case "http":
				c.HTTP = address
			case "resp":
				c.RESP = address
			case "admin":
				c.Admin = address
			}
			if secure || known == "certificates" {
				c.TLSCert, c.TLSKey = "a", "b"
				secure = true
			}
			switch known {
			case "tokens":
				c.TokenList = []server.Token{{Name: "a"}}
			case "certificates":
				c.TLSClientCA = "c"
			}
			want := local || said(open, name) || name != "admin" && secure && known != ""
			err := c.Check()
			if (err == nil) != want {
				t.Errorf("%s on %s, TLS %v, known by %q, open %q: %v", name, address, secure, known, open, err)
			}
			if err != nil && !strings.Contains(err.Error(), "--open-to-network="+name) {
				t.Errorf("the error does not say what to do: %v", err)
			}
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	for name, c := range map[string]Config{
		"nothing":      {},
		"half of TLS":  {Listeners: Listeners{HTTP: "127.0.0.1:0"}, Access: Access{TLSCert: "a"}},
		"CA alone":     {Listeners: Listeners{HTTP: "127.0.0.1:0"}, Access: Access{TLSClientCA: "a"}},
		"no port":      {Listeners: Listeners{HTTP: "127.0.0.1"}},
		"negative":     {Listeners: Listeners{HTTP: "127.0.0.1:0"}, Stopping: Stopping{Drain: -1}},
		"unknown name": {Listeners: Listeners{HTTP: "127.0.0.1:0"}, Access: Access{OpenToNetwork: []string{"true"}}},
		"not by servers": {
			Listeners: Listeners{HTTP: "127.0.0.1:0", Advertise: "ids:1"},
			Access:    Access{TLSCert: "a", TLSKey: "b", TLSClientCA: "c"},
		},
	} {
		if c.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A pod writes its address before a port as it is, also one of IPv6.
func TestAdvertised(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "10.0.0.7:8080": "http://10.0.0.7:8080", "ids-1.example:1": "http://ids-1.example:1",
		"fd00::7:8443": "http://[fd00::7]:8443", "[fd00::7]:8443": "http://[fd00::7]:8443",
		"http://10.0.0.7:8080": "wrong", "10.0.0.7": "wrong", ":8080": "wrong", "10.0.0.7:0": "wrong", "a/b:1": "wrong",
		"u@h:1": "wrong", "10.0.0.7:65536": "wrong",
	} {
		c := Config{Listeners: Listeners{HTTP: "127.0.0.1:0", Advertise: text}}
		got, err := c.advertised()
		if (err != nil) != (want == "wrong") || err == nil && got != want || (err != nil) != (c.Check() != nil) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		c.TLSCert, c.TLSKey = "cert", "key"
		if secure, err := c.advertised(); err == nil && secure != strings.Replace(got, "http:", "https:", 1) {
			t.Errorf("%s with TLS: %q", text, secure)
		}
	}
}
