package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

var errFault = errors.New("the store does not answer")

// errLate makes a write wait: the caller gets an error, and land carries it
// out.
var errLate = errors.New("the write is late")

// faulty is a store with all kinds of faults between it and its users.
type faulty struct {
	store.Store

	mu             sync.Mutex
	calls          int
	before         func(op string, call int) error // an error: nothing is done; nil function: all is well
	after          func(op string, call int) error // an error: it is done, but the caller is not told
	late           [][]store.Write
	vanishedNonces map[store.Key]string // records that vanished, with the nonce they had
}

func newFaulty(st store.Store) *faulty {
	return &faulty{Store: st, vanishedNonces: map[store.Key]string{}}
}

// setFaults sets what goes wrong from now on.
func (f *faulty) setFaults(before, after func(op string, call int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *faulty) Get(ctx context.Context, keys []store.Key) (_ []store.Record, reply store.Reply, _ error) {
	finish, err := f.countCall("get")
	if err != nil {
		return nil, reply, err
	}
	rs, reply, err := f.Store.Get(ctx, keys)
	if err != nil {
		return nil, reply, err
	}
	return f.shown(rs), replyOf(reply), finish()
}

// shown are records without those that vanished.
func (f *faulty) shown(rs []store.Record) []store.Record {
	for i, r := range rs {
		if f.isVanished(r) {
			rs[i] = store.Record{Key: r.Key}
		}
	}
	return rs
}

// replyOf is a reply without the store's own clock, which is not the
// test's.
func replyOf(r store.Reply) store.Reply {
	r.Now = time.Time{}
	return r
}

// countCall counts a call and returns its number, whether it fails, and
// what happens after it.
func (f *faulty) countCall(op string) (finish func() error, err error) {
	f.mu.Lock()
	f.calls++
	call, before, after := f.calls, f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(op, call); err != nil {
			return nil, err
		}
	}
	return func() error {
		if after == nil {
			return nil
		}
		return after(op, call)
	}, nil
}

func (f *faulty) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (_ []store.Record, reply store.Reply, _ error) {
	finish, err := f.countCall("list")
	if err != nil {
		return nil, reply, err
	}
	rs, reply, err := f.Store.List(ctx, namespace, nodes, limit)
	if err != nil {
		return nil, reply, err
	}
	return slices.DeleteFunc(rs, f.isVanished), reply, finish()
}

func (f *faulty) Heads(ctx context.Context) (_ []store.Record, reply store.Reply, _ error) {
	finish, err := f.countCall("heads")
	if err != nil {
		return nil, reply, err
	}
	rs, reply, err := f.Store.Heads(ctx)
	if err != nil {
		return nil, reply, err
	}
	return slices.DeleteFunc(rs, f.isVanished), reply, finish()
}

func (f *faulty) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	all := func(err error) []error {
		errs := make([]error, len(writes))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	finish, err := f.countCall("swap")
	if errors.Is(err, errLate) {
		f.mu.Lock()
		f.late = append(f.late, writes)
		f.mu.Unlock()
	}
	if err != nil {
		return all(err), nil, store.Reply{}
	}
	errs, rs, reply := f.swap(ctx, writes, then...)
	if err := finish(); err != nil {
		return all(err), nil, store.Reply{}
	}
	return errs, f.shown(rs), replyOf(reply)
}

func (f *faulty) swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	writes = append([]store.Write(nil), writes...)
	for i, w := range writes {
		f.mu.Lock()
		nonce, ok := f.vanishedNonces[w.New.Key]
		f.mu.Unlock()
		if ok && w.Old == "" {
			writes[i].Old = nonce
		} else if ok && w.Old == nonce {
			writes[i].Old = "no such record"
		}
	}
	return f.Store.Swap(ctx, writes, then...)
}

// carryLate carries out the late writes.
func (f *faulty) carryLate(ctx context.Context) (errs []error) {
	f.mu.Lock()
	all := f.late
	f.late = nil
	f.mu.Unlock()
	for _, writes := range all {
		late, _, _ := f.swap(ctx, writes)
		errs = append(errs, late...)
	}
	return errs
}

// removeRecord makes a record be as if it had never been there.
func (f *faulty) removeRecord(r store.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.vanishedNonces[r.Key] = r.Nonce
}

func (f *faulty) isVanished(r store.Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	nonce, ok := f.vanishedNonces[r.Key]
	return ok && nonce == r.Nonce
}
