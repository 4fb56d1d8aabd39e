package server

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func sum(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

func tokensOf(t *testing.T, tokens ...Token) *Auth {
	t.Helper()
	a := must(NewAuth(tokens))
	return a
}

// Who is connected when tokens are read again has what the new file says,
// and keeps what was spent of an unchanged rate.
func TestTokensReadAgain(t *testing.T) {
	old := tokensOf(t,
		Token{Name: "gone", SHA256: sum("1")},
		Token{Name: "narrowed", SHA256: sum("2"), Verbs: []Verb{VerbIDs, VerbManage}},
		Token{Name: "rated", SHA256: sum("3"), Rate: 1e-9, Burst: 1}, Token{Name: "replaced", SHA256: sum("4")},
	)
	var before [4]*Identity
	for i := range before {
		before[i], _ = old.Identify(string(rune('1' + i)))
	}
	noError(t, before[2].Authorize(VerbIDs, "a", 1))
	now := tokensOf(t,
		Token{Name: "narrowed", SHA256: sum("2"), Namespaces: []string{"a*"}},
		Token{Name: "rated", SHA256: sum("3"), Rate: 1e-9, Burst: 1}, Token{Name: "replaced", SHA256: sum("5")},
	)
	now.Replace(old)
	for i, want := range []Kind{Anonymous, Denied, -1, Anonymous} {
		err := before[i].May(VerbManage, "a1")
		if i == 2 {
			err = before[i].May(VerbIDs, "b")
		}
		if want == -1 {
			wantErr(t, err, nil, "%s", before[i].Name)
		} else if KindOf(err) != want {
			t.Errorf("%s: %v", before[i].Name, err)
		}
	}
	if before[1].May(VerbIDs, "a1") != nil || before[1].May(VerbIDs, "b") == nil {
		t.Error("a token has not the namespaces of the new file")
	}
	again, err := now.Identify("3")
	if err != nil || again.Authorize(VerbIDs, "a", 1) == nil || before[2].Authorize(VerbIDs, "a", 1) == nil {
		t.Errorf("a rate was forgotten (%v)", err)
	}
	if before[2].Authorize(VerbRead, "a", 1) == nil {
		t.Error("a request beyond the rate")
	}
	if before[0].Authorize(VerbIDs, "a", 1) == nil || !before[0].Limited() || before[0].Sees("a") {
		t.Error("a token that was taken away still counts")
	}
	fails(t, errOf(now.Identify("4")), "an old secret is still known")
}

func TestBadTokens(t *testing.T) {
	for name, list := range map[string][]Token{
		"no name":     {{SHA256: sum("1")}},
		"twice":       {{Name: "a", SHA256: sum("1")}, {Name: "a", SHA256: sum("2")}},
		"same secret": {{Name: "a", SHA256: sum("1")}, {Name: "b", SHA256: sum("1")}},
		"short sum":   {{Name: "a", SHA256: "12"}},
		"verb":        {{Name: "a", SHA256: sum("1"), Verbs: []Verb{"write"}}},
		"star":        {{Name: "a", SHA256: sum("1"), Namespaces: []string{"a*b"}}},
		"rate":        {{Name: "a", SHA256: sum("1"), Rate: -1}},
		"slash":       {{Name: "a/b", SHA256: sum("1")}}, // its labels would be a's
		"both":        {{Name: "a", SHA256: sum("1"), Certificate: "x"}},
		"neither":     {{Name: "a"}},
		"same name":   {{Name: "a", Certificate: "x"}, {Name: "b", Certificate: "x"}},
		"nodes":       {{Name: "a", SHA256: sum("1"), Verbs: []Verb{VerbLease}, Nodes: -1}},
		"no holder":   {{Name: "a", SHA256: sum("1"), Nodes: 1}},
		"manager":     {{Name: "a", SHA256: sum("1"), Verbs: []Verb{VerbLease, VerbManage}, Nodes: 1}},
	} {
		fails(t, errOf(NewAuth(list)), "%s: no error", name)
	}
}

// Tokens had no end: anybody who had seen one could use it for ever.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := End{time.Now().Add(time.Hour)}
		a := tokensOf(t, Token{Name: "a", SHA256: sum("1"), Until: end}, Token{Name: "b", SHA256: sum("2")})
		id, err := a.Identify("1")
		if err != nil || id.Authorize(VerbIDs, "n", 1) != nil {
			t.Fatal("a token is refused before its end")
		}
		time.Sleep(time.Hour - time.Nanosecond)
		noError(t, id.May(VerbIDs, "n"))
		time.Sleep(time.Nanosecond)
		_, err = id.Pace(t.Context(), 1)
		for name, err := range map[string]error{
			"May": id.May(VerbIDs, "n"), "Authorize": id.Authorize(VerbIDs, "n", 1), "Pace": err,
		} {
			if KindOf(err) != Anonymous || !strings.Contains(err.Error(), "ended at 2000-01-01T01:00:00Z") {
				t.Errorf("%s after its end: %v", name, err)
			}
		}
		if id.Sees("n") || id.SeesAll() || !id.Limited() {
			t.Error("a token that ended still sees")
		}
		b, err := a.Identify("2")
		if err != nil || b.May(VerbIDs, "n") != nil {
			t.Error("a token without an end has ended")
		}
	})
}

// A certificate could not have rights of its own.
func TestRightsByCertificate(t *testing.T) {
	a := tokensOf(t,
		Token{Name: "host", Certificate: "shop.example"}, Token{Name: "common", Certificate: "CN=shop"},
		Token{Name: "email", Certificate: "shop@example"},
		Token{Name: "uri", Certificate: "spiffe://example/shop"},
		Token{Name: "secret", SHA256: sum("")},
	)
	spiffe := must(url.Parse("spiffe://example/shop"))
	for want, c := range map[string]*x509.Certificate{
		"host":   {DNSNames: []string{"x", "shop.example"}, Subject: pkix.Name{CommonName: "shop"}},
		"common": {Subject: pkix.Name{CommonName: "shop"}},
		"uri":    {URIs: []*url.URL{spiffe}},
		"email":  {EmailAddresses: []string{"shop@example"}},
		"":       {Subject: pkix.Name{CommonName: "SHOP"}, DNSNames: []string{"a.shop.example", ""}},
		// Names of another kind: an authority may not have checked them.
		" host":  {Subject: pkix.Name{CommonName: "shop.example"}, EmailAddresses: []string{"shop.example"}},
		" uri":   {Subject: pkix.Name{CommonName: "spiffe://example/shop"}, DNSNames: []string{"spiffe://example/shop"}},
		" email": {Subject: pkix.Name{CommonName: "shop@example"}, DNSNames: []string{"shop@example", "CN=shop"}},
	} {
		want, _, _ := strings.Cut(want, " ")
		c.NotAfter = time.Now().Add(time.Hour)
		id := a.Unnamed([]*x509.Certificate{c})
		if (id == nil) != (want == "") || id != nil && id.Name != want {
			t.Errorf("%q is %+v", want, id)
		}
	}
	if a.Unnamed(nil) != nil {
		t.Error("a client without a certificate is known")
	}
	shop := &x509.Certificate{Subject: pkix.Name{CommonName: "shop"}, NotAfter: time.Now().Add(time.Hour)}
	before := a.Unnamed([]*x509.Certificate{shop})
	before.Count(3)
	next := tokensOf(t, Token{Name: "common", Certificate: "CN=shop2"})
	next.Replace(a)
	if before.May(VerbIDs, "n") == nil {
		t.Error("a name that was taken away still counts")
	}
	next.Used(func(_ *Token, u *Usage) {
		if u.Spent.Load() != 3 {
			t.Error("a counter fell")
		}
	})
}

// Without tokens nothing bounded what all clients asked for.
func TestRateOfAllWithoutTokens(t *testing.T) {
	a := OpenAt(10)
	id := a.Anyone()
	for n, want := range map[int64]bool{10: true, 11: false} {
		if err := id.Authorize(VerbIDs, "a", n); (err == nil) != want {
			t.Errorf("%d: %v", n, err)
		}
	}
	next := Open()
	next.Replace(a)
	if next.Anyone() != id || id.Authorize(VerbIDs, "a", 1000) != nil {
		t.Error("connections keep a rate that was taken away")
	}
}
