package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease/store"
)

const (
	// What a transaction of one write compares: two bounds of the record, and the id three times.
	// Among others, a write only compares the bounds; etcd adds these to the number of writes.
	opsAlone, opsAmong = 5, 2
	maxBytes           = 512 << 10 // of a transaction; etcd refuses 1.5 MiB by default
	// Transactions of a batch under way, so that it does not wait for each one's disk.
	inFlight = 4
)

// Swap implements [store.Store]. It splits a batch into transactions of about 120 writes.
// Each write is a transaction inside, so a lost one does not undo the others. Nothing sends
// a write again, except where the server refused a transaction for its length. If a proxy
// repeats one, it is recognized.
func (s *Store) Swap(ctx context.Context, writes []store.Write) []error {
	errs := make([]error, len(writes))
	b := &batch{s: s, writes: writes, errs: errs, mark: rand.Text()[:10], slots: make(chan struct{}, inFlight)}
	err := store.Distinct(writes)
	if s.looks {
		err = fmt.Errorf("etcdstore: %w", store.ErrReadOnly)
	}
	if err != nil {
		b.fail(b.all(), err)
		return errs
	}
	b.run(ctx)
	return errs
}

// batch is one call of Swap.
type batch struct {
	s      *Store
	writes []store.Write
	errs   []error
	mark   string // of this call, stored with each record
	slots  chan struct{}
}

func (b *batch) all() []int {
	out := make([]int, len(b.writes))
	for i := range out {
		out[i] = i
	}
	return out
}

func (b *batch) fail(items []int, err error) {
	for _, i := range items {
		b.errs[i] = err
	}
}

// run sends all writes in transactions.
func (b *batch) run(ctx context.Context) {
	var wg sync.WaitGroup
	for items := b.all(); len(items) > 0; {
		n := b.nextLen(items)
		part := items[:n]
		items = items[n:]
		b.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-b.slots }()
			b.transact(ctx, part)
		})
	}
	wg.Wait()
}

// nextLen returns how many writes the next transaction has.
func (b *batch) nextLen(items []int) int {
	most := max(1, int(b.s.limit.Load())-opsAmong)
	bytes := 0
	for n, i := range items {
		r := b.writes[i].New
		texts := len(b.s.keys) + len(r.Namespace) + len(r.Nonce) + len(r.Holder) + len(r.Label)
		bytes += len(r.Data) + len(r.Veto) + 4*texts + 500
		if n > 0 && (n == most || bytes > maxBytes) {
			return n
		}
	}
	return len(items)
}

// transact sends writes in one transaction, or in shorter ones if the server wants those.
func (b *batch) transact(ctx context.Context, items []int) {
	s := b.s
	before, err := s.ready(ctx)
	var resp *clientv3.TxnResponse
	if err == nil {
		same := s.same(before.id)
		id := clientv3.OpGet(s.keys.id())
		if len(items) == 1 {
			cmps, then, other := b.txnOf(items[0])
			resp, err = s.commit(ctx, append(cmps, same...), then, append(other, id))
		} else {
			ops := make([]clientv3.Op, len(items))
			for n, i := range items {
				ops[n] = clientv3.OpTxn(b.txnOf(i))
			}
			resp, err = s.commit(ctx, same, ops, []clientv3.Op{id})
		}
		if err != nil && len(items) > 1 && s.lowerLimit(err, len(items)+opsAmong) {
			half := len(items) / 2
			b.transact(ctx, items[:half])
			b.transact(ctx, items[half:])
			return
		}
		if err != nil {
			err = s.advice(err)
		}
	}
	if err == nil {
		err = b.results(before, items, resp)
	}
	if err != nil {
		b.fail(items, err)
	}
}

// txnOf returns the transaction of one write.
func (b *batch) txnOf(i int) (cmps []clientv3.Cmp, then, other []clientv3.Op) {
	w := b.writes[i]
	record := b.s.keys.record(w.New.Key)
	if w.Old == "" {
		cmps = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(record), "=", 0)}
	} else {
		old := prefix(w.Old)
		cmps = []clientv3.Cmp{
			clientv3.Compare(clientv3.Value(record), ">", old),
			clientv3.Compare(clientv3.Value(record), "<", beyond(old)),
		}
	}
	return cmps, []clientv3.Op{clientv3.OpPut(record, encode(w.New, b.mark))}, []clientv3.Op{clientv3.OpGet(record)}
}

// results reads the answer to a transaction.
func (b *batch) results(before seen, items []int, resp *clientv3.TxnResponse) error {
	id := before.id
	single := len(items) == 1
	if !resp.Succeeded {
		id = idVersionOf(resp.Responses[len(resp.Responses)-1].GetResponseRange())
	}
	if err := b.s.observe(before, resp.Header, id); err != nil {
		return err
	}
	if !single && !resp.Succeeded {
		return errors.New("etcdstore: the server's answer contradicts itself")
	}
	for n, i := range items {
		done, responses := resp.Succeeded, resp.Responses
		if !single {
			inner := resp.Responses[n].GetResponseTxn()
			done, responses = inner.Succeeded, inner.Responses
		}
		if !done {
			b.errs[i] = b.judgeConflict(b.writes[i], responses[0].GetResponseRange())
		}
	}
	return nil
}

// judgeConflict judges the record that a write found in place of the old one.
func (b *batch) judgeConflict(w store.Write, found *pb.RangeResponse) error {
	if len(found.Kvs) == 0 {
		return store.ErrLost
	}
	r, mark, err := decode(w.New.Key, found.Kvs[0].Value)
	switch {
	case err != nil:
		return fmt.Errorf("etcdstore: %w", err)
	case r.Nonce == w.New.Nonce && mark == b.mark:
		return nil // this very write, carried out twice
	}
	return store.ErrLost
}
