package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	nodes    = 4 // keys, so that clients meet
	clients  = 8
	rounds   = 8   // faults in a history, at least; each kind happens
	between  = 100 // swaps done between two faults, at least
	patience = 5 * time.Minute
)

// subject is a store to be checked.
type subject struct {
	open    func(t *testing.T) store.Store // of one client, with connections of its own
	faults  []fault
	network *network // the only one, if all connections go through it

	// early means that the store shows writes to others before they are
	// durable: see history.forgive.
	early bool
}

// fault breaks something and mends it again.
type fault struct {
	name string
	do   func(t *testing.T, h *history, rnd *rand.Rand)
}

// check lets clients loose on a store while faults happen, and judges what
// they saw.
func check(t *testing.T, s subject) {
	t.Helper()
	length, rounds := 5*time.Second, rounds
	if testing.Short() {
		length, rounds = 2*time.Second, 0
	}
	h := storm(t, s, length, rounds)
	t.Logf("%d reads, %d swaps done, %d lost, %d unknown", h.count[get], h.count[done], h.count[lost], h.count[unknown])
	if !h.enough() {
		t.Errorf("too little happened to say anything")
	}
	if s.early {
		h.forgive()
	}
	if result, page := h.verdict(); result != porcupine.Ok {
		t.Errorf("not linearizable (%s): see %s", result, page)
	}
	if s.network != nil {
		checkSilence(t, s)
	}
}

// enough reports whether so much happened that a verdict says something.
func (h *history) enough() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[done] >= 100 && h.count[lost] >= 10 && h.count[unknown] > 0
}

// storm records a history: of a length, or longer where a slow machine does
// little in it, if there are no faults, and otherwise until all faults have
// happened, so many at least, and were overcome.
func storm(t *testing.T, s subject, length time.Duration, rounds int) *history {
	t.Helper()
	h := newHistory(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := s.open(t)
	read(t, h, last, clients) // which also makes the tables
	stores := make([]store.Store, clients)
	for i := range stores {
		stores[i] = s.open(t)
	}
	var wg sync.WaitGroup
	for i, st := range stores {
		c := &client{h: h, st: st, id: i, rnd: rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))}
		wg.Go(func() {
			for ctx.Err() == nil {
				c.step(t.Context())
			}
		})
	}
	rnd := rand.New(rand.NewPCG(0, uint64(time.Now().UnixNano())))
	if len(s.faults) == 0 {
		for start := time.Now(); time.Since(start) < length || !h.enough() && time.Since(start) < patience; {
			time.Sleep(20 * time.Millisecond)
		}
	} else {
		for n := range max(rounds, len(s.faults)) {
			h.await(between)
			s.faults[n%len(s.faults)].do(t, h, rnd)
		}
		h.await(between)
	}
	cancel()
	wg.Wait()
	read(t, h, last, clients)
	return h
}

// await waits until some more swaps were done.
func (h *history) await(more int) {
	h.Helper()
	swaps := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.count[done]
	}
	deadline := time.Now().Add(patience)
	for start := swaps(); swaps() < start+more; {
		if time.Now().After(deadline) {
			h.Errorf("%d swaps were done in %v", swaps()-start, patience)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func pause(rnd *rand.Rand, ms int) { time.Sleep(time.Duration(rnd.IntN(ms)+ms/2) * time.Millisecond) }

func keyOf(node int64) store.Key { return store.Key{Namespace: "linear", Node: node} }

func allKeys() []store.Key {
	keys := make([]store.Key, nodes)
	for i := range keys {
		keys[i] = keyOf(int64(i))
	}
	return keys
}

// read reads all keys, as soon as the store lets it.
func read(t *testing.T, h *history, st store.Store, id int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		began := h.now()
		rs, _, err := st.Get(ctx, allKeys())
		cancel()
		if err == nil {
			h.found(id, began, rs)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the store cannot be read after the faults: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// client reads and swaps, one operation at a time.
type client struct {
	h     *history
	st    store.Store
	id, n int
	rnd   *rand.Rand
	old   []store.Record // read some time ago
}

func (c *client) step(ctx context.Context) {
	// Most wait for an answer for a second, some only for a moment: so that
	// the client itself makes results unknown.
	wait := time.Second
	if c.rnd.IntN(10) == 0 {
		wait = time.Duration(c.rnd.IntN(3000)) * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	keys := allKeys()
	c.rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:1+c.rnd.IntN(3)]
	began := c.h.now()
	rs, _, err := c.st.Get(ctx, keys)
	if err != nil {
		time.Sleep(time.Millisecond) // a read that failed says nothing
		return
	}
	c.h.found(c.id, began, rs)
	if c.rnd.IntN(8) == 0 && c.old != nil {
		rs = c.old // against what was there before
	}
	c.old = rs
	c.swap(ctx, rs)
}

func (c *client) swap(ctx context.Context, rs []store.Record) {
	writes := make([]store.Write, len(rs))
	for i, r := range rs {
		c.n++
		next := r
		next.Nonce, next.Revision, next.Until = fmt.Sprint("client", c.id, "-", c.n), r.Revision+1,
			r.Until+int64(c.rnd.IntN(3))-1
		next.Holder, next.Label = [2]string{"", "holder"}[c.rnd.IntN(2)], fmt.Sprint("label", c.rnd.IntN(3))
		writes[i] = store.Write{Old: r.Nonce, New: next}
	}
	c.h.begin(writes)
	began := c.h.now()
	var events []event
	results, _, _ := c.st.Swap(ctx, writes)
	for i, err := range results {
		e := event{kind: unknown, key: writes[i].New.Key, old: writes[i].Old, new: writes[i].New.Nonce}
		switch {
		case err == nil:
			e.kind = done
		case errors.Is(err, store.ErrLost):
			e.kind = lost
		}
		events = append(events, e)
	}
	c.h.end(c.id, began, events...)
}
