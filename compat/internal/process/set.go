package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
)

// ErrOverlap means that this process makes IDs with other settings, or over
// a fence, that could equal those asked for.
var ErrOverlap = errors.New("this process makes other IDs that could be the same")

// spare is how many bare generators without users the process keeps.
const spare = 64

// set is the generators of a process. Nothing waits while its mutex is
// held.
type set struct {
	mu     sync.Mutex
	spaces map[spaceKey]*space
	unused []*use // bare generators without users, the longest unused first
}

// shared is the set of this process. There is one, because the IDs of a
// process are one set.
var shared = newSet()

func newSet() *set { return &set{spaces: map[spaceKey]*space{}} }

// space is the generators whose IDs could be the same.
type space struct {
	uses  map[*use]bool
	floor int64 // above all ticks that generators used which left
}

// use is a generator in the set. The set's mutex guards it.
type use struct {
	space *space // nil outside of the set
	parts []part
	name  string       // in errors
	bare  bool         // without proof that no other generator has them
	users int          // handles; 1 over a fence
	from  int64        // the first tick that it may stamp
	seal  func() int64 // of its generator; says what that used, also after Close
	gone  bool         // it enters no more

	number *number // nil over a fence
	waits  waits
}

// enter adds a part of u to a space. It returns the first tick: from,
// raised to the floor. Bare generators in the way leave if they are unused;
// with replace, used ones leave too.
func (s *set) enter(u *use, sp *space, p part, from int64, bare, replace bool) (int64, error) {
	var old []*use
	for o := range sp.uses {
		switch {
		case o == u || !bare && !o.bare || !slices.ContainsFunc(o.parts, p.overlaps):
		case o.users == 0 || replace && o.number != nil:
			old = append(old, o)
		default:
			return 0, fmt.Errorf("snowfence: %w: %s shares numbers with %s: close the first before you open "+
				"the second, and give one process one layout, and numbers without a fence or from leases, not both",
				ErrOverlap, o.name, u.name)
		}
	}
	for _, o := range old {
		s.end(o)
	}
	from = max(from, sp.floor)
	if u.space == nil {
		u.space, u.from = sp, from
	}
	if !slices.ContainsFunc(u.parts, p.same) {
		u.parts = append(u.parts, p)
	}
	u.bare = u.bare || bare
	sp.uses[u] = true
	return from, nil
}

// end closes the generator of a bare number, which could ask its fence
// again after a seal alone.
func (s *set) end(u *use) {
	_ = u.number.gen.Close() // its fence fails no Release
	s.leave(u)
}

// space returns the space of a key. The mutex is held.
func (s *set) space(key spaceKey) *space {
	sp := s.spaces[key]
	if sp == nil {
		sp = &space{uses: map[*use]bool{}}
		s.spaces[key] = sp
	}
	return sp
}

// leave takes u out for good, and remembers what it used.
//
// Order: the seal comes before the floor is raised, and that before others
// get the parts.
func (s *set) leave(u *use) {
	u.gone = true
	if u.space == nil {
		return
	}
	if used := u.seal(); used > u.from { // else it used nothing, perhaps far ahead of the clock
		u.space.floor = max(u.space.floor, used)
	}
	delete(u.space.uses, u)
	u.space = nil
	s.reuse(u)
}

// reuse counts u as unused no more.
func (s *set) reuse(u *use) {
	s.unused = slices.DeleteFunc(s.unused, func(o *use) bool { return o == u })
}

// drop counts one user less of a bare number.
func (s *set) drop(u *use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.users--; u.users > 0 || u.gone {
		return
	}
	if s.unused = append(s.unused, u); len(s.unused) > spare {
		s.end(s.unused[0])
	}
}

func nodeName(s *snowfence.Scheme, node int64) string {
	return fmt.Sprintf("node %d of the layout %s", node, s.Layout())
}
