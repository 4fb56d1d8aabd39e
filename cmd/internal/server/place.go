package server

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// places are the connections of a wire, and whose they are. The zero value has none.
type places struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // by address, and by token
}

// fairShare is how many times as many connections as are free a client may have to get one more. So
// one client alone gets three quarters of all, and another one finds a place always but at the
// very end.
const fairShare = 3

// Place is a connection's place on its wire. All methods are safe for concurrent use.
type Place struct {
	meter   *Meter
	most    int
	address string
	token   string // "" until it is known
	claimed atomic.Bool
	left    bool
}

// Enter gives a connection a place, or returns nil if there are as many as there may be, or if its
// address has its share. Programs of this machine share an address, so it does not count.
func (m *Meter) Enter(from net.Addr, most int) *Place {
	p := &Place{meter: m, most: most, address: clientOf(from)}
	m.places.mu.Lock()
	defer m.places.mu.Unlock()
	if m.places.taken >= most || p.address != "" && !p.fair(p.address) {
		m.Refused.Add(1)
		return nil
	}
	m.places.taken++
	m.Connections.Add(1)
	p.count(p.address, 1)
	return p
}

// Claim counts the place for a token as well, and returns why that token has too many.
func (p *Place) Claim(id *Identity) error {
	name := ""
	if id.Name != anybody {
		name = "token " + id.Name // no address begins so
	}
	s := &p.meter.places
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.left || name == p.token {
		p.claimed.Store(true)
		return nil
	}
	if name != "" && !p.fair(name) {
		p.meter.Refused.Add(1)
		return Errorf(TooMuch, "token %q has %d of at most %d connections, and others need the rest: use fewer, and "+
			"send more over each", id.Name, s.by[name], p.most)
	}
	p.count(p.token, -1)
	p.token = name
	p.count(p.token, 1)
	p.claimed.Store(true)
	return nil
}

// Claimed reports whether it is known whose the connection is.
func (p *Place) Claimed() bool { return p.claimed.Load() }

// Leave gives the place back. To call it again does nothing.
func (p *Place) Leave() {
	s := &p.meter.places
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	s.taken--
	p.meter.Connections.Add(-1)
	p.count(p.address, -1)
	p.count(p.token, -1)
}

// fair reports whether a client may have one more. mu is held.
func (p *Place) fair(who string) bool {
	s := &p.meter.places
	return s.by[who] <= fairShare*(p.most-s.taken)
}

// count adds to what a client has. mu is held.
func (p *Place) count(who string, n int) {
	s := &p.meter.places
	if who == "" {
		return
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	if s.by[who] += n; s.by[who] == 0 {
		delete(s.by, who)
	}
}

// clientOf returns what connections of one client have in common: an address of IPv4, or the first
// half of one of IPv6, of which a client has as many as it likes. "" is this machine.
func clientOf(from net.Addr) string {
	tcp, ok := from.(*net.TCPAddr)
	if !ok {
		return ""
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	switch {
	case !a.IsValid() || a.IsLoopback():
		return ""
	case a.Is4():
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
