package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// SequencePart returns a fence for a part of a node's sequence, the numbers first to
// last, so that several machines share one node: each has a state file and a
// slice of its own. f is a [StateFile]; a lease refuses it, because a lease is
// for a whole node.
//
//	file, err := snowfence.StateFile("/var/lib/app/node7", scheme, 7)
//	…
//	g, err := snowfence.New(snowfence.Config{Fence: snowfence.SequencePart(file, 32, 63)})
//
// Between machines nobody sees that slices overlap: prove them with [Beside]
// first. Inside one process, and in one file, an overlap is an [ErrBound]. A file
// keeps its slices: without one it is an [ErrStateFile], and another slice starts
// above all that the file granted. Numbers below the layout's first are in no
// slice.
//
// New reports a slice that is wrong.
func SequencePart(f Fence, first, last int64) Fence {
	file, _ := f.(*FileFence)
	return &sliced{whole: f, file: file, share: share{numbers: numbers{first, last}, slice: true}}
}

// sliced is the fence of SequencePart.
type sliced struct {
	whole Fence
	file  *FileFence // nil for other fences
	share share
}

// check refuses what cannot be sliced.
func (s *sliced) check() error {
	if s.file == nil {
		return errors.New("snowfence: only a state file has slices: a lease grants the whole sequence of its node, " +
			"so lease a node for each machine")
	}
	if err := checkSlice(s.file.scheme.layout, s.share.first, s.share.last); err != nil {
		return fmt.Errorf("snowfence: state file %s: %w", s.file.path, err)
	}
	return nil
}

func (s *sliced) Scheme() *Scheme {
	if s.whole == nil {
		return nil
	}
	return s.whole.Scheme()
}

func (s *sliced) Bind(func() int64) (func(), error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.file.bind(&s.share)
}

func (s *sliced) Held(after int64) (Grant, bool) {
	if s.check() != nil {
		return Grant{}, false
	}
	return s.file.heldBy(&s.share, after)
}

func (s *sliced) Grant(_ context.Context, after int64) (Grant, error) {
	if err := s.check(); err != nil {
		return Grant{}, err
	}
	return s.file.grantTo(&s.share, after)
}

func (s *sliced) Release(_ context.Context, _ Grant, used int64) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.file.release(&s.share, used)
}

// numbers are the sequence numbers from first to last.
type numbers struct{ first, last int64 }

func (n numbers) overlap(m numbers) bool { return n.first <= m.last && m.first <= n.last }

func (n numbers) String() string { return fmt.Sprintf("%d-%d", n.first, n.last) }

func listNumbers(list []numbers) string {
	var all []string
	for _, n := range list {
		all = append(all, n.String())
	}
	return strings.Join(all, ",")
}

// parseSlices reads what listNumbers writes. What it cannot read it leaves out,
// and the file then differs from what would be written.
func parseSlices(text string) (list []numbers) {
	for part := range strings.SplitSeq(text, ",") {
		var n numbers
		if _, err := fmt.Sscanf(part, "%d-%d", &n.first, &n.last); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// share is what one generator uses of a state file.
//
// Invariant: for each tick and number of a file's node, one share at most stamps
// it. Shares in use at the same time have no number in common, and a share begins
// at the first tick that the file had not granted to any share before. The file's
// first free tick is lowered only to a tick above all that was used, and only when
// no other share is in use.
type share struct {
	numbers
	slice bool  // not the whole sequence of the fence itself
	from  int64 // first tick of its present grant
}

// bind claims a share for a generator.
func (f *FileFence) bind(u *share) (unbind func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.bound {
		if v.overlap(u.numbers) {
			return nil, fmt.Errorf("state file %s: another generator uses the sequence numbers %v, and this one %v: %w",
				f.path, v, u, ErrBound)
		}
	}
	leave, err := inProcess.enter(f, u)
	if err != nil {
		return nil, err
	}
	f.bound = append(f.bound, u)
	u.from = f.state.until
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		leave()
		f.bound = slices.DeleteFunc(f.bound, func(v *share) bool { return v == u })
	}), nil
}

// mayUse refuses a share that the file does not allow: one of a fence around this
// one that does not bind, while other shares are in use, and the whole sequence of
// a file that keeps a slice. It needs mu.
func (f *FileFence) mayUse(u *share) error {
	switch {
	case len(f.bound) > 0 && !slices.Contains(f.bound, u):
		return fmt.Errorf("snowfence: state file %s: %w", f.path, ErrBound)
	case !u.slice && len(f.state.slices) > 0:
		return fmt.Errorf("snowfence: state file %s: %w: it is of the slice %s, and other machines may use the other "+
			"numbers of node %d: go on with it (SequencePart, --slice), or take the slice %v, which is the whole sequence, "+
			"once no other machine has the node", f.path, ErrStateFile, listNumbers(f.state.slices), f.state.node, u)
	}
	return nil
}

// slicesWith returns the slices in use, and u. It needs mu.
func (f *FileFence) slicesWith(u *share) []numbers {
	var list []numbers
	for _, v := range f.bound {
		if v != u { // it is a slice: the whole sequence is beside none
			list = append(list, v.numbers)
		}
	}
	if u.slice {
		list = append(list, u.numbers)
	}
	return list
}

// sharedBeside reports whether another share than u is in use. It needs mu.
func (f *FileFence) sharedBeside(u *share) bool {
	return slices.ContainsFunc(f.bound, func(v *share) bool { return v != u })
}

// inProcess are the shares in use of all state files of this process: two files
// can be of one node, and neither sees the slices of the other.
var inProcess = occupied{shares: map[string][]*share{}}

// occupied is safe for concurrent use.
type occupied struct {
	mu     sync.Mutex
	shares map[string][]*share // by layout, secret and node
}

// enter adds a share, unless a slice overlaps another share.
func (o *occupied) enter(f *FileFence, u *share) (leave func(), err error) {
	key := fmt.Sprintf("%s node %d", f.state.layout, f.state.node)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range o.shares[key] {
		if v.overlap(u.numbers) && (u.slice || v.slice) {
			return nil, fmt.Errorf("state file %s: this process uses the sequence numbers %v of node %d already, "+
				"with another file, and here %v: %w", f.path, v, f.state.node, u, ErrBound)
		}
	}
	o.shares[key] = append(o.shares[key], u)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.shares[key] = slices.DeleteFunc(o.shares[key], func(v *share) bool { return v == u })
		if len(o.shares[key]) == 0 {
			delete(o.shares, key)
		}
	}, nil
}
