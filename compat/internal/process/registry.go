package process

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
)

// ErrOverlap means that this process makes IDs with other settings, or over a fence,
// that could equal those asked for.
var ErrOverlap = errors.New("this process makes other IDs that could be the same")

// spare is how many generators without users the process keeps.
const spare = 64

// registry is all spaces of a process. Nothing waits while its mutex is held: its
// fences answer at once.
type registry struct {
	mu     sync.Mutex
	spaces map[spaceKey]*space
	unused []*entry // open generators without users, the longest unused first
}

// shared is the registry of this process. There is one, because the IDs of a
// process are one set.
var shared = newRegistry()

func newRegistry() *registry { return &registry{spaces: map[spaceKey]*space{}} }

// space is the generators whose IDs could be the same.
type space struct {
	open   map[shape]map[uint64]*entry // by the base of their rectangle; no inner map is empty
	fenced map[*fenced]bool            // with a grant in use
	floor  int64                       // above all ticks that generators used which were let go
}

// space returns that of a key. It is kept once it has a generator: without one it has
// nothing to remember.
func (r *registry) space(key spaceKey) *space {
	if sp := r.spaces[key]; sp != nil {
		return sp
	}
	return &space{open: map[shape]map[uint64]*entry{}, fenced: map[*fenced]bool{}}
}

// entry is an open generator and how many handles use it. The registry's mutex
// guards it.
type entry struct {
	space *space
	shape shape
	rectangle
	scheme *snowfence.Scheme
	node   int64
	opts   Options
	fence  *fence
	gen    *snowfence.Generator
	waits  waits

	users  int
	closed bool
}

// enter returns the generator of a rectangle, with one user more.
func (r *registry) enter(s *snowfence.Scheme, node int64, o Options) (*entry, error) {
	key, f, rect, err := place(s, node)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := r.space(key)
	if sp.fencedOver([]rectangle{rect}, false) { // not even replaced: others rely on the number of a fence
		return nil, fmt.Errorf("snowfence: %w: a fence has numbers of node %d of the layout %s: close what uses "+
			"the fence first, or take each number from a lease", ErrOverlap, node, s.Layout())
	}
	e := &entry{space: sp, shape: f, rectangle: rect, scheme: s, node: node, opts: o, users: 1}
	same, others := sp.beside(e)
	if same != nil && (same.users > 0 || same.fits(o)) {
		r.use(same)
		return same, nil
	}
	if same != nil {
		others = append(others, same)
	}
	if err := e.makeRoom(others); err != nil {
		return nil, err
	}
	for _, old := range others {
		r.letGo(old)
	}
	if err := e.start(max(sp.floor, o.First)); err != nil {
		return nil, err
	}
	sp.add(e)
	r.spaces[key] = sp
	return e, nil
}

// beside returns the open generator of e's rectangle, and those that overlap it.
func (sp *space) beside(e *entry) (same *entry, others []*entry) {
	for f, group := range sp.open {
		if f == e.shape {
			if o := group[e.base]; o == nil {
				continue
			} else if o.equal(e) {
				same = o
			} else {
				others = append(others, o)
			}
			continue
		}
		for _, o := range group {
			switch {
			case o.equal(e):
				same = o
			case o.overlaps(e.rectangle):
				others = append(others, o)
			}
		}
	}
	return same, others
}

// equal reports whether two entries have the same ticks and low bits.
func (e *entry) equal(o *entry) bool {
	return e.rectangle == o.rectangle && e.scheme.MaxTick() == o.scheme.MaxTick()
}

// fits reports whether a generator without users is what o asks for. Nobody can
// compare two clocks.
func (e *entry) fits(o Options) bool {
	return e.opts.Lead == o.Lead && e.opts.Time == nil && o.Time == nil
}

// makeRoom refuses e if others in use are in its way and may not be replaced, or
// if it could not take their place.
func (e *entry) makeRoom(others []*entry) error {
	i := slices.IndexFunc(others, func(o *entry) bool { return o.users > 0 })
	if i < 0 {
		return nil
	}
	if o := others[i]; !e.opts.Replace {
		return fmt.Errorf("snowfence: %w: node %d of the layout %s is in use, and node %d of the layout %s has "+
			"numbers of it: close the first one, or use one layout in a process",
			ErrOverlap, o.node, o.scheme.Layout(), e.node, e.scheme.Layout())
	}
	try := &entry{scheme: e.scheme, node: e.node, opts: e.opts}
	if err := try.start(0); err != nil { // before anybody loses a generator
		return err
	}
	return try.gen.Close()
}

// start opens the generator, which stamps no tick below floor.
func (e *entry) start(floor int64) (err error) {
	e.fence = &fence{scheme: e.scheme, node: e.node, from: floor}
	e.gen, err = e.opts.generator(e.fence)
	return err
}

func (sp *space) add(e *entry) {
	group := sp.open[e.shape]
	if group == nil {
		group = map[uint64]*entry{}
		sp.open[e.shape] = group
	}
	group[e.base] = e
}

// use counts one user more.
func (r *registry) use(e *entry) {
	if e.users++; e.users == 1 {
		r.unused = slices.DeleteFunc(r.unused, func(o *entry) bool { return o == e })
	}
}

// leave counts one user less. A generator that nobody uses stays for a while.
func (r *registry) leave(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.users--; e.users > 0 || e.closed {
		return
	}
	r.unused = append(r.unused, e)
	if len(r.unused) > spare {
		r.letGo(r.unused[0])
	}
}

// letGo seals a generator for good and remembers what its space used.
//
// Order: the seal comes before the floor is read, and the floor is raised before
// anybody else gets the rectangle.
func (r *registry) letGo(e *entry) {
	_ = e.gen.Close() // its fence fails no Release; sealed it is anyhow
	e.closed = true
	sp := e.space
	sp.floor = max(sp.floor, e.fence.seal())
	group := sp.open[e.shape]
	if delete(group, e.base); len(group) == 0 {
		delete(sp.open, e.shape)
	}
	if e.users == 0 {
		r.unused = slices.DeleteFunc(r.unused, func(o *entry) bool { return o == e })
	}
}
