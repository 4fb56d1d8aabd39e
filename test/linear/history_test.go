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

	"github.com/snowfence/snowfence/lease"
)

// The checker's view of one key: its state is the nonce that is stored, "" for none. Nonces never come twice.

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
	key      lease.Key
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
		parts := map[lease.Key][]porcupine.Operation{}
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
	written map[string]lease.Record // by nonce: what somebody wants to write
	count   map[kind]int
}

func newHistory(t *testing.T) *history {
	return &history{T: t, start: time.Now(), written: map[string]lease.Record{}, count: map[kind]int{}}
}

func (h *history) now() int64 { return time.Since(h.start).Nanoseconds() }

// begin notes what is about to be written.
func (h *history) begin(writes []lease.Write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range writes {
		h.written[w.New.Nonce] = w.New
	}
}

// end notes an operation that began at a time and ended now. Whatever is unknown has no end.
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

// found notes what a read returned, and compares the records with what was written under their nonces.
func (h *history) found(client int, began int64, rs []lease.Record) {
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

// operations returns what the checker has to put in order. A swap whose result is unknown was done if its nonce was ever seen, and the checker has to find when. If it was
// not, then either it was not done, or nobody saw it: what it wrote could be replaced only by somebody who had seen it, and so it stands to this day, or came
// after the last read of the key. In both cases nothing that was seen depends on it. To leave it out is exact, and saves the checker a choice that doubles its work each time.
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

// verdict asks the checker. For a history that is wrong, or takes too long to check, it writes a page to look at, and returns its path.
func (h *history) verdict() (result porcupine.CheckResult, page string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ops := h.operations()
	result, info := porcupine.CheckOperationsVerbose(model, ops, time.Minute)
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
