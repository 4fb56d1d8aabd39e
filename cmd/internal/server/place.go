package server

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// shares divide something of which there is not enough among clients:
// connections, streams, room for answers. The zero value has given nothing.
type shares struct {
	mu    sync.Mutex
	total int64
	by    map[string]int64 // by address, token, or user
}

// fairShare is how many times as much as is free a client may have to get
// more. So one client alone gets three quarters of all, and another one
// finds some always but at the very end.
const fairShare = 3

// takeShare takes n of most for a client, and reports whether there was
// enough. "" is nobody in particular, and has no share; a negative n is
// given back.
func (s *shares) takeShare(who string, n, most int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 && (s.total+n > most || !s.isFair(who, n, most-s.total-n+1)) {
		return false
	}
	s.total += n
	s.addUse(who, n)
	return true
}

// isFair reports whether a client may have n more while so many are free.
// mu is held.
func (s *shares) isFair(who string, n, free int64) bool {
	return who == "" || s.by[who]+n-1 <= fairShare*free
}

// addUse adds to a client's use. mu is held.
func (s *shares) addUse(who string, n int64) {
	if who == "" {
		return
	}
	if s.by == nil {
		s.by = map[string]int64{}
	}
	if s.by[who] += n; s.by[who] == 0 {
		delete(s.by, who)
	}
}

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
