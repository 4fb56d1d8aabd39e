package server

import (
	"net"
	"strings"
	"testing"
)

// crowd lets connections of one address in until one is refused, and
// returns those.
func crowd(m *Meter, address string, most int) (all []*Place) {
	for {
		p := m.Enter(&net.TCPAddr{IP: net.ParseIP(address)}, nil, most)
		if p == nil {
			return all
		}
		all = append(all, p)
	}
}

// One client took all connections of a server.
func TestOneClientLeavesPlaces(t *testing.T) {
	const most = 50
	m := new(Meter)
	first := crowd(m, "192.0.2.1", most)
	if n := len(first); n != 38 {
		t.Errorf("one address has %d of %d", n, most)
	}
	if p := m.Enter(&net.TCPAddr{IP: net.ParseIP("192.0.2.2")}, nil, most); p == nil {
		t.Error("another address finds no place")
	}
	for _, same := range []string{"::ffff:192.0.2.1", "192.0.2.1"} {
		if len(crowd(m, same, most)) > 0 {
			t.Errorf("%s is another client than 192.0.2.1", same)
		}
	}
	for _, p := range first {
		p.Leave()
		p.Leave()
	}
	if n := m.Connections.Load(); n != 1 || m.Refused.Load() != 3 {
		t.Errorf("%d connections, %d refused", n, m.Refused.Load())
	}
	if n := len(crowd(m, "2001:db8::1", most)) + len(crowd(m, "2001:db8::2", most)); n != 37 {
		t.Errorf("two addresses of one network have %d", n)
	}
}

// Programs of one machine share its address, and may have all places; their
// tokens may not.
func TestOneTokenLeavesPlaces(t *testing.T) {
	const most = 50
	m := new(Meter)
	all := crowd(m, "127.0.0.1", most)
	if len(all) != most {
		t.Fatalf("%d of %d", len(all), most)
	}
	for _, p := range all {
		if err := p.Claim(Open().Anyone()); err != nil || !p.Claimed() {
			t.Errorf("without tokens: %v", err)
		}
		p.Leave()
	}
	a := must(NewAuth([]Token{
		{Name: "shop", SHA256: strings.Repeat("1", 64)}, {Name: "cart", SHA256: strings.Repeat("2", 64)},
	}))
	shop, cart := a.tokens[0], a.tokens[1]
	own := 0
	for range most {
		p := m.Enter(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil, most)
		if err := p.Claim(shop); err == nil {
			own++
		} else if p.Leave(); KindOf(err) != TooMuch || !strings.Contains(err.Error(), `token "shop" has`) {
			t.Error(err)
		}
	}
	if own != 37 {
		t.Errorf("one token has %d of %d", own, most)
	}
	p := m.Enter(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil, most)
	wantErr(t, p.Claim(cart), nil, "another token")
	p.Leave()
	if by := m.places.by; m.places.total != int64(own) || by["token cart"] != 0 || by["token shop"] != int64(own) {
		t.Errorf("%+v", &m.places)
	}
}
