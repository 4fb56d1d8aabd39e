package linear

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/snowfence/snowfence/lease/store"
)

// The checker's view of one key: its state is the nonce that is stored, ""
// for none. Nonces never come twice.

type kind int

const (
	get     kind = iota
	done         // a swap that was acknowledged
	lost         // a swap that was not done and never will be
	unknown      // a swap that was done, or was not, or will be at any later time
)

// event is one operation on one key: input and output in one.
type event struct {
	kind     kind
	key      store.Key
	old, new string
	found    string // what get found
}

func (e event) String() string {
	switch e.kind {
	case get:
		return fmt.Sprintf("get → %q", e.found)
	case done:
		return fmt.Sprintf("%q → %q", e.old, e.new)
	case lost:
		return fmt.Sprintf("%q → %q: lost", e.old, e.new)
	}
	return fmt.Sprintf("%q → %q: ?", e.old, e.new)
}

// model says what a store may do.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		e := input.(event)
		switch e.kind {
		case get:
			return state == e.found, state
		case lost:
			return state != e.old, state
		}
		return state == e.old, e.new // one that is unknown was done: see history.operations
	},
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		parts := map[store.Key][]porcupine.Operation{}
		for _, o := range all {
			k := o.Input.(event).key
			parts[k] = append(parts[k], o)
		}
		var out [][]porcupine.Operation
		for _, p := range parts {
			out = append(out, p)
		}
		return out
	},
	DescribeOperation: func(input, _ any) string { return input.(event).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%q", state) },
}

// history records what clients did and saw.
type history struct {
	*testing.T
	start time.Time

	mu      sync.Mutex
	ops     []porcupine.Operation
	written map[string]store.Record // by nonce: what a client wants to write
	count   map[kind]int
	kills   []int64 // when servers that were killed had ended
}

func newHistory(t *testing.T) *history {
	return &history{T: t, start: time.Now(), written: map[string]store.Record{}, count: map[kind]int{}}
}

func (h *history) now() int64 { return time.Since(h.start).Nanoseconds() }

// begin notes what is about to be written.
func (h *history) begin(writes []store.Write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range writes {
		h.written[w.New.Nonce] = w.New
	}
}

// end notes an operation that began at a time and ended now. Whatever is
// unknown has no end.
func (h *history) end(client int, began int64, events ...event) {
	ended := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		at := ended
		if e.kind == unknown {
			at = 1<<63 - 1
		}
		h.count[e.kind]++
		h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: e, Call: began, Return: at})
	}
}

// found notes what a read returned, and compares the records with what was
// written under their nonces.
func (h *history) found(client int, began int64, rs []store.Record) {
	var events []event
	for _, r := range rs {
		events = append(events, event{kind: get, key: r.Key, found: r.Nonce})
		h.mu.Lock()
		want, ok := h.written[r.Nonce]
		h.mu.Unlock()
		if r.Nonce != "" && (!ok || r != want) {
			h.Errorf("a read returned %+v; under its nonce was written %+v", r, want)
		}
	}
	h.end(client, began, events...)
}

// operations returns what the checker has to put in order. A swap whose
// result is unknown was done if its nonce was ever seen, and the checker
// has to find when. If it was not, then either it was not done, or no
// client saw it: what it wrote could be replaced only by a client that had
// seen it, and so it stands to this day, or came after the last read of the
// key. In both cases nothing that was seen depends on it. To leave it out
// is exact, and saves the checker a choice that doubles its work each time.
func (h *history) operations() []porcupine.Operation {
	seen := map[string]bool{}
	for _, o := range h.ops {
		if e := o.Input.(event); e.kind == get {
			seen[e.found] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(h.ops), func(o porcupine.Operation) bool {
		e := o.Input.(event)
		return e.kind == unknown && !seen[e.new]
	})
}

// forgive leaves out what InnoDB (MySQL, MariaDB) may show: it makes a
// commit visible to others first, and then waits until its log is on disk.
// So a read may see a write that was not acknowledged yet, a swap may be
// lost to it, and then a crash undoes it. What was acknowledged stays, and
// with it all that was there before it. For leases this is enough: they use
// nothing because of a read alone, but after a write of their own was
// acknowledged, and that one has its place in the same log behind all that
// was read before.
//
// A write was undone only if it was never acknowledged, began before a
// server was killed, was not seen in a read that began after that, and no
// write that stayed was made on top of it.
func (h *history) forgive() {
	undone := map[string]porcupine.Operation{} // by the nonce written
	for _, o := range h.ops {
		if e := o.Input.(event); e.kind == unknown && h.gone(o.Call) >= 0 {
			undone[e.new] = o
		}
	}
	for again := true; again; {
		again = false
		for _, o := range h.ops {
			e := o.Input.(event)
			nonce := e.found
			if e.kind != get {
				nonce = e.old
			}
			u, ok := undone[nonce]
			if !ok || e.kind == lost || e.kind == get && o.Call <= h.gone(u.Call) {
				continue
			}
			if _, too := undone[e.new]; e.kind == unknown && too {
				continue
			}
			if e.kind == unknown && !h.saw(e.new) {
				continue
			}
			delete(undone, nonce)
			again = true
		}
	}
	h.ops = slices.DeleteFunc(h.ops, func(o porcupine.Operation) bool {
		e := o.Input.(event)
		_, found := undone[e.found]
		_, wrote := undone[e.new]
		if e.kind == get && found || e.kind == unknown && wrote {
			return true
		}
		for _, u := range undone {
			was := u.Input.(event)
			if e.kind == lost && e.key == was.key && e.old == was.old && o.Return >= u.Call &&
				o.Call <= h.gone(u.Call) {
				return true
			}
		}
		return false
	})
}

// gone returns when the first server that was killed after a time had
// ended, −1 if none was.
func (h *history) gone(after int64) int64 {
	for _, at := range h.kills {
		if at > after {
			return at
		}
	}
	return -1
}

// saw reports whether a read saw a nonce.
func (h *history) saw(nonce string) bool {
	return slices.ContainsFunc(h.ops, func(o porcupine.Operation) bool {
		e := o.Input.(event)
		return e.kind == get && e.found == nonce
	})
}

// verdict asks the checker. For a history that is wrong, or takes too long
// to check, it writes a page to look at, and returns its path.
func (h *history) verdict() (result porcupine.CheckResult, page string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := h.operations()
	result, info := porcupine.CheckOperationsVerbose(model, ops, 5*time.Minute)
	if result == porcupine.Ok {
		return result, ""
	}
	f, err := os.CreateTemp("", "snowfence-linear-"+strings.ReplaceAll(h.Name(), "/", "-")+"-*.html")
	if err == nil {
		err = porcupine.Visualize(model, info, f)
		page = f.Name()
	}
	if err != nil {
		page = err.Error()
	}
	return result, page
}
