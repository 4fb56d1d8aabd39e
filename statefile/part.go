package statefile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/snowfence/snowfence"
)

// SequencePart returns a fence for a slice of the node's sequence, the
// numbers first to last, so that several machines share one node: each has
// a state file and a slice of its own.
//
//	file, err := statefile.File("/var/lib/app/node7", scheme, 7)
//	…
//	part, err := file.SequencePart(32, 63)
//	…
//	g, err := snowfence.New(snowfence.Config{Fence: part})
//
// Nothing notices an overlap of slices on different machines: compare them
// with [snowfence.Meet] first. Inside one process, and in one file, an
// overlap is a [snowfence.ErrBound]. A file remembers its slices: to use it
// without a slice is an [ErrUnusable], and another slice starts above all
// that the file granted. Numbers below the layout's first are in no slice.
func (f *Fence) SequencePart(first, last int64) (snowfence.Fence, error) {
	l := f.scheme.Layout()
	why := ""
	switch {
	case last < first:
		why = "its last number is below its first"
	case first < l.First || last > l.Last:
		why = fmt.Sprintf("the layout has sequence numbers %d to %d", l.First, l.Last)
	case last == 0 && l.Last > 0: // in a grant, 0 to 0 means all
		why = "a slice cannot be the number 0 alone: take 0 to 1, or begin above 0"
	}
	if why != "" {
		return nil, fmt.Errorf("snowfence: state file %s: slice %d to %d: %s", f.path, first, last, why)
	}
	return &sliced{f, share{numbers: numbers{first, last}, slice: true}}, nil
}

// sliced is the fence of a slice.
type sliced struct {
	file  *Fence
	share share
}

func (s *sliced) Scheme() *snowfence.Scheme                { return s.file.scheme }
func (s *sliced) Bind(func() int64) (func(), error)        { return s.file.bindShare(&s.share) }
func (s *sliced) Held(after int64) (snowfence.Grant, bool) { return s.file.heldBy(&s.share, after) }

func (s *sliced) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	return s.file.grantTo(&s.share, after)
}

func (s *sliced) Release(_ context.Context, _ snowfence.Grant, used int64) error {
	return s.file.releaseShare(&s.share, used)
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

// parseSlices reads what listNumbers writes. It leaves out a wrong part,
// and the file then differs from its next content.
func parseSlices(text string) (list []numbers) {
	for part := range strings.SplitSeq(text, ",") {
		var n numbers
		if _, err := fmt.Sscanf(part, "%d-%d", &n.first, &n.last); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// share is one generator's part of a state file.
//
// Invariant: for each tick and number of a file's node, one share at most
// stamps it. Shares in use at the same time have no number in common, and a
// share begins at the first tick that the file had not granted to any share
// before. The file's first free tick is lowered only to a tick above all
// that was used, and only when no other share is in use.
type share struct {
	numbers
	slice bool  // not the whole sequence of the fence itself
	from  int64 // first tick of its present grant
}

// bindShare claims a share for a generator.
func (f *Fence) bindShare(u *share) (unbind func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.bound {
		if v.overlap(u.numbers) {
			return nil, fmt.Errorf("state file %s: another generator uses the sequence numbers %v, and this one %v: %w",
				f.path, v, u, snowfence.ErrBound)
		}
	}
	leave, err := inProcess.enterShare(f, u)
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

// mayUse refuses a share that no generator bound, if it is a slice or if
// others are in use, and the whole sequence of a file that keeps a slice.
// It needs mu.
func (f *Fence) mayUse(u *share) error {
	bound := slices.Contains(f.bound, u)
	switch {
	case !bound && len(f.bound) > 0:
		return fmt.Errorf("snowfence: state file %s: %w", f.path, snowfence.ErrBound)
	case !bound && u.slice:
		return fmt.Errorf("snowfence: state file %s: no generator bound the slice %v: a fence around it has to be a "+
			"snowfence.Binder, and to pass Bind on", f.path, u)
	case !u.slice && len(f.state.slices) > 0:
		return fmt.Errorf("snowfence: state file %s: %w: it is of the slice %s, and other machines may use the other "+
			"numbers of node %d: go on with it (SequencePart, --slice), or take the slice %v, the whole sequence, "+
			"once no other machine has the node", f.path, ErrUnusable, listNumbers(f.state.slices), f.state.node, u)
	}
	return nil
}

// slicesWith returns the slices in use, and u. It needs mu.
func (f *Fence) slicesWith(u *share) []numbers {
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
func (f *Fence) sharedBeside(u *share) bool {
	return slices.ContainsFunc(f.bound, func(v *share) bool { return v != u })
}

// inProcess are the shares in use of all state files of this process: two
// files can be of one node, and neither sees the slices of the other.
var inProcess = occupied{shares: map[string][]*share{}}

// occupied are the shares in use. It is safe for concurrent use.
type occupied struct {
	mu     sync.Mutex
	shares map[string][]*share // by layout, secret and node
}

// enterShare adds a share, unless a slice overlaps another share.
func (o *occupied) enterShare(f *Fence, u *share) (leave func(), err error) {
	key := fmt.Sprintf("%s node %d", f.state.layout, f.state.node)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range o.shares[key] {
		if v.overlap(u.numbers) && (u.slice || v.slice) {
			return nil, fmt.Errorf("state file %s: this process uses the sequence numbers %v of node %d already, "+
				"with another file, and here %v: %w", f.path, v, f.state.node, u, snowfence.ErrBound)
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
