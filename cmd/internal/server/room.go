package server

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// MostRoom bounds the memory of requests and of answers that clients have
// not taken yet, in bytes.
const MostRoom = 256 << 20

// Reserved bytes. An answer counts with its message and its encoded form,
// and with the encoder's room while it grows.
const (
	RequestRoom = 16 << 10 // of each request in progress, with a small answer
	LeaseRoom   = 2 << 10  // of a lease, a namespace, a sequence or a server in a list
	StreamRoom  = 256 << 10
	BufferRoom  = 128 << 10 // of the buffers of a connection of the Redis protocol that are large
	freeRoom    = 4 << 10   // up to this the answer is in the request's own
)

// reservation is room that a request has.
type reservation struct {
	who string
	n   int64
}

// Room is the memory for requests and answers in progress, in bytes.
type Room struct{ used shares }

// Reserve takes room for n bytes of an answer, until the request ends. Take
// it before anything is made or taken from a store. One client leaves room
// for others. A negative n is given back.
func (s *Room) Reserve(c *Caller, n int64) error {
	if n >= 0 && n <= freeRoom {
		return nil
	}
	who := c.shareName()
	if !s.used.takeShare(who, n, MostRoom) {
		return Errorf(TooMuch, "too many large answers are on their way already: ask again, or for less")
	}
	if last := len(c.room) - 1; last >= 0 && c.room[last].who == who {
		c.room[last].n += n // in all: what was given back is not to be taken again by Ended
		return nil
	}
	c.room = append(c.room, reservation{who, n})
	return nil
}

// Begin takes room for n bytes of what a caller sends over a connection,
// before anything of it is read. end gives it back.
func (s *Room) Begin(p *Place, id *Identity, n int64) (end func(), err error) {
	who := cmp.Or(id.shareName(), p.shareName())
	if !s.used.takeShare(who, n, MostRoom) {
		return nil, Errorf(TooMuch, "too many requests and large answers are on their way already: ask again")
	}
	return func() { s.used.takeShare(who, -n, MostRoom) }, nil
}

// listed is how long a list was when it was read last; 0 before.
type listed struct{ n atomic.Int64 }

// firstList is how long a list may be that nobody has read yet.
const firstList = 10_000

// reserveList takes room for a list before it is read, by its last length.
// read returns the length.
func (s *Room) reserveList(c *Caller, l *listed, read func() (int, error)) error {
	before := max(cmp.Or(l.n.Load(), firstList), freeRoom/LeaseRoom+1) // it counts, and can be given back
	if err := s.Reserve(c, before*LeaseRoom); err != nil {
		return err
	}
	n, err := read()
	if err != nil {
		return err
	}
	l.n.Store(max(int64(n), 1)) // 0 is an unread list
	return s.Reserve(c, (int64(n)-before)*LeaseRoom)
}

// Ended gives the room of a request back, after its answer has gone.
func (s *Room) Ended(c *Caller) {
	for _, r := range c.room {
		s.used.takeShare(r.who, -r.n, MostRoom)
	}
	c.room = nil
}

// shareName names the share that a request takes of: its token's or user's,
// or else its address's.
func (c *Caller) shareName() string {
	if who := c.Identity.shareName(); who != "" {
		return who
	}
	a, _ := netip.ParseAddrPort(c.From) // that of a socket is none
	return clientOf(net.TCPAddrFromAddrPort(a))
}

// shares divide something of which there is not enough among clients:
// connections, streams, room for answers. The zero value has given nothing.
type shares struct {
	mu    sync.Mutex
	total int64
	by    map[string]int64 // by address, token, or user
}

// fairShare bounds a client's use, as a multiple of the free rest. So one
// client alone gets three quarters of all, and another one finds some, but
// at the very end.
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
