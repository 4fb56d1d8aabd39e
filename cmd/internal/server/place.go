package server

import (
	"cmp"
	"net"
	"net/netip"
	"sync/atomic"
)

// Place is a connection's place on its wire. All methods are safe for
// concurrent use.
type Place struct {
	meter   *Meter
	most    int64
	address string
	token   string // "" until it is known
	claimed atomic.Bool
	left    bool
}

// Enter gives a connection a place, or returns nil if there are as many as
// there may be, or if its address or its user has a share. Programs of this
// machine share an address, so it does not count. A nil user is not known
// yet.
func (m *Meter) Enter(from net.Addr, user *Identity, most int) *Place {
	p := &Place{meter: m, most: int64(most), address: clientOf(from)}
	if !m.places.takeShare(p.address, 1, p.most) {
		m.Refused.Add(1)
		return nil
	}
	m.Connections.Add(1)
	if user != nil && p.Claim(user) != nil {
		p.Leave()
		return nil
	}
	return p
}

// Claim counts the place for a token as well, and returns why that token
// has too many.
func (p *Place) Claim(id *Identity) error {
	name := id.shareName()
	s := &p.meter.places
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.left || name == p.token {
		p.claimed.Store(true)
		return nil
	}
	if !s.isFair(name, 1, p.most-s.total) {
		p.meter.Refused.Add(1)
		return Errorf(TooMuch, "token %q has %d of at most %d connections, and others need the rest: use fewer, and "+
			"send more over each", id.Name, s.by[name], p.most)
	}
	s.addUse(p.token, -1)
	p.token = name
	s.addUse(p.token, 1)
	p.claimed.Store(true)
	return nil
}

// Claimed reports whether the owner of the connection is known.
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
	s.total--
	p.meter.Connections.Add(-1)
	s.addUse(p.address, -1)
	s.addUse(p.token, -1)
}

// shareName names the share that a caller takes of; "" where no token is
// needed.
func (id *Identity) shareName() string {
	if id == nil || id.Name == anybody {
		return ""
	}
	return "token " + id.Name // no address begins so
}

// clientOf returns the common part of a client's addresses: the whole of
// IPv4, or the first half of IPv6, because a client has as many second
// halves as it likes. "" is this machine.
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

// shareName names the share that a request over the connection takes of.
func (p *Place) shareName() string {
	if p == nil {
		return ""
	}
	s := &p.meter.places
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(p.token, p.address)
}
