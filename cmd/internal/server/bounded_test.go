package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

// pool is a store whose writes occupy connections, of which it counts the
// most at a time.
type pool struct {
	*keyStore
	used, most atomic.Int64
}

func (p *pool) use() (release func()) {
	n := p.used.Add(1)
	p.most.Store(max(n, p.most.Load()))
	return func() { p.used.Add(-1) }
}

func (p *pool) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	defer p.use()()
	return p.keyStore.Add(ctx, a)
}

func (p *pool) Swap(ctx context.Context, w []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	defer p.use()()
	if err := p.call(ctx, w[0].New.Namespace); err != nil {
		return []error{err}, nil, store.Reply{}
	}
	return p.keyStore.Swap(ctx, w)
}

// Rows that others have locked leave connections to leases, and soon also
// to other sequences.
func TestLockedRowsLeaveConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const locked = 8
		st := &pool{keyStore: newKeyStore()}
		names := []string{"good"}
		for i := range locked {
			names = append(names, fmt.Sprint("locked", i))
		}
		for _, name := range names {
			numbered(t, st, name, sequence.Definition{Mode: sequence.Strict})
		}
		s := newService(t, st, Options{Direct: st, Connections: 8})
		for _, name := range names {
			s.takes(t, name, 1, 1)
		}
		var release []func()
		for _, name := range names[1:] {
			release = append(release, st.hold(name))
			go func() { _, _ = s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, name, 0, 1, 0) }()
		}
		synctest.Wait()
		if n := st.used.Load(); n != 6 {
			t.Errorf("%d connections are used", n)
		}
		time.Sleep(callTimeoutOfSequences)
		for i := range int64(20) { // those that are locked wait apart now
			for _, name := range names[1:] {
				go func() { _, _ = s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, name, 0, 1, 0) }()
			}
			began := time.Now()
			s.takes(t, "good", 1, i+2)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			time.Sleep(time.Second)
		}
		if n := st.most.Load(); n > 6 {
			t.Errorf("%d connections were used", n)
		}
		for _, release := range release {
			release()
		}
		time.Sleep(callTimeoutOfSequences)
		for _, name := range names {
			must(s.Sequences.Take(t.Context(), &Caller{Identity: Open().Anyone()}, name, 0, 1, 0))
		}
		if n := len(s.Sequences.counts.(*bounded).wasLate); n > 0 {
			t.Errorf("%d sequences are late", n)
		}
	})
}

// callTimeoutOfSequences is how long a sequence waits for a call of its
// store.
const callTimeoutOfSequences = 10 * time.Second

// A client kept all others from opening sequences.
func TestOpeningsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newKeyStore()
		numbered(t, st, "good", sequence.Definition{})
		s := New(st, Options{}) // no group: a held call would hold those with it
		take := func(ctx context.Context, from, name string) error {
			return errOf(s.Sequences.Take(ctx, &Caller{Identity: Open().Anyone(), From: from}, name, 0, 1, 0))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range maxOpening {
			defer st.hold(fmt.Sprint("slow", i))()
			fails(t, take(gone, "10.0.0.1:1", fmt.Sprint("slow", i)), "its client is gone")
		}
		if n := len(s.Sequences.attempts); n > 0 {
			t.Errorf("%d sequences are opened for nobody", n)
		}
		for i := range maxOpening {
			go func() { _ = take(t.Context(), "10.0.0.1:1", fmt.Sprint("slow", i)) }()
		}
		synctest.Wait()
		wantKind(t, take(t.Context(), "10.0.0.1:1", "good"), TooMuch)
		noError(t, take(t.Context(), "10.0.0.2:1", "good"))
		time.Sleep(storeTimeout)
		synctest.Wait()
		noError(t, take(t.Context(), "10.0.0.1:1", "good"))
		if n := s.Sequences.opening.total; n != 0 {
			t.Errorf("%d places are taken by nobody", n)
		}
	})
}
