package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Settings are read again as a whole or not at all; what cannot change is
// named.
func TestReload(t *testing.T) {
	ca, cert, key := newCertificate(t)
	c := Config{
		Listeners: Listeners{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"},
		Access: Access{
			TLSCert: cert, TLSKey: key,
			TokenList: []server.Token{token("a", "secret-a", server.VerbIDs)},
		},
		Stopping: Stopping{Drain: time.Nanosecond},
	}
	p, logs := start(t, c, newStore(t))
	c.Logger = p.cfg.Logger
	known := func(secret string) bool { _, err := p.tokens.currentAuth().Identify(secret); return err == nil }
	failed := func(what string) bool {
		_, text := get(t, "http://"+p.Admin+"/metrics", "")
		return strings.Contains(text, `snowfence_reload_failed{what="`+what+`"} 1`)
	}

	next := c
	next.TokenList = []server.Token{token("b", "secret-b", server.VerbIDs)}
	next.TTL, next.Label = time.Hour, "another"
	if err := p.Reload(next); err != nil || known("secret-a") || !known("secret-b") || failed("settings") {
		t.Errorf("%v, a known: %v, b known: %v", err, known("secret-a"), known("secret-b"))
	}
	if text := logs.String(); !strings.Contains(text, "[ttl label]") {
		t.Errorf("the log does not name what needs a restart:\n%s", text)
	}
	for name, bad := range map[string]func(c *Config){
		"no tokens":         func(c *Config) { c.TokenList = nil },
		"no certificate":    func(c *Config) { c.TLSCert, c.TLSKey = "", "" },
		"client authority":  func(c *Config) { c.TLSClientCA = ca.file },
		"a file is missing": func(c *Config) { c.TLSCert = "/nowhere" },
		"a bad token":       func(c *Config) { c.TokenList = []server.Token{{Name: "x"}} },
		"nothing to serve":  func(c *Config) { c.HTTP = "" },
	} {
		one := next
		bad(&one)
		if err := p.Reload(one); err == nil || !known("secret-b") || !failed("settings") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.Reload(next); err != nil || failed("settings") {
		t.Errorf("good again: %v", err)
	}
	for name, left := range map[string]time.Duration{"one that ended": -time.Minute, "a good one": time.Hour} {
		other := next
		other.TLSCert, other.TLSKey = filepath.Join(ca.dir, name), filepath.Join(ca.dir, name+".key")
		before := p.certificates.publicKey()
		ca.lifetime = left
		ca.issue(t, other.TLSCert, other.TLSKey)
		if err := p.Reload(other); (err == nil) != (left > 0) || (p.certificates.publicKey() != before) != (left > 0) {
			t.Errorf("%s in place of a good one: %v", name, err)
		}
	}
	noError(t, p.Reload(next))
	before := p.certificates.publicKey()
	ca.lifetime = -time.Minute
	ca.issue(t, c.TLSCert, c.TLSKey)
	eventually(t, "the metric of a certificate that ended", func() bool { return failed("certificates") })
	if p.certificates.publicKey() != before || !strings.Contains(logs.String(), "ended at") {
		t.Error("a certificate that ended replaced a good one")
	}
	ca.lifetime = time.Hour
	ca.issue(t, c.TLSCert, c.TLSKey)
	eventually(t, "a good one again", func() bool { return !failed("certificates") })
	noError(t, os.WriteFile(c.TLSCert, []byte("half of it"), 0o600))
	eventually(t, "the metric of a file that cannot be read", func() bool { return failed("certificates") })
}

// A certificate that ends soon is said at the start, by --check-config and
// by the metrics.
func TestCertificateThatEndsSoon(t *testing.T) {
	ca, cert, key := newCertificate(t)
	c := Config{Listeners: Listeners{Admin: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key}}
	for _, left := range []time.Duration{time.Hour, 100 * 24 * time.Hour, -time.Minute} {
		ca.lifetime = left
		ca.issue(t, c.TLSCert, c.TLSKey)
		ends, err := CheckFiles(Config{
			Listeners: Listeners{HTTP: "127.0.0.1:0"},
			Access:    Access{TLSCert: c.TLSCert, TLSKey: c.TLSKey},
		})
		warnings := ends.Certificates
		if soon := left < 24*time.Hour; err != nil || (len(warnings) > 0) != soon ||
			soon && !strings.Contains(warnings[0], "somebody") {
			t.Errorf("%v left: %q, %v", left, warnings, err)
		}
		p, logs := start(t, c, newStore(t))
		if said := strings.Contains(logs.String(), "renew it"); said != (left < 24*time.Hour) {
			t.Errorf("%v left: %s", left, logs)
		}
		end := time.Now().Add(left)
		p.certificates.reportEnds(func(which string, at time.Time) {
			if which != "server" || at.Sub(end).Abs() > 10*time.Minute {
				t.Errorf("%v left: %s ends at %v", left, which, at)
			}
		})
	}
}
