package server

import "sync"

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
