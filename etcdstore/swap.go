package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease"
)

const (
	// The longest list of operations or comparisons of one write: its record, and two
	// entries of the index twice.
	opsPerWrite = 5
	maxBytes    = 512 << 10 // of a transaction; etcd refuses 1.5 MiB by default
	// Transactions of a batch under way, so that it does not wait for each one's disk.
	inFlight = 4
)

// Swap implements [lease.Store]. It splits a batch into transactions of about 120 writes.
// Each write is a transaction inside, so a lost one does not undo the others. Nothing sends
// a write again, except where the server refused a transaction for its length. If a proxy
// repeats one, it is recognized.
func (s *Store) Swap(ctx context.Context, writes []lease.Write) []error {
	errs := make([]error, len(writes))
	b := &batch{s: s, writes: writes, errs: errs, mark: rand.Text()[:10], slots: make(chan struct{}, inFlight)}
	err := lease.Distinct(writes)
	if s.looks {
		err = fmt.Errorf("etcdstore: %w", lease.ErrReadOnly)
	}
	if err != nil {
		b.fail(b.all(), err)
		return errs
	}
	todo := b.all()
	for attempt := 0; len(todo) > 0; attempt++ {
		if attempt == 3 {
			b.fail(todo, errors.New("etcdstore: the record changes under the same nonce again and again: nonces "+
				"must be new with each write"))
			break
		}
		todo = b.run(ctx, b.locate(ctx, todo))
	}
	return errs
}

// batch is one call of Swap.
type batch struct {
	s      *Store
	writes []lease.Write
	errs   []error
	mark   string // of this call, stored with each record
	slots  chan struct{}
}

// item is a write whose old record is known as far as needed.
type item struct {
	i   int // which write
	old *place
}

func (b *batch) all() []int {
	out := make([]int, len(b.writes))
	for i := range out {
		out[i] = i
	}
	return out
}

func (b *batch) fail(todo []int, err error) {
	for _, i := range todo {
		b.errs[i] = err
	}
}

// locate finds the old records in the index. The lease has mostly read or written them here
// before, so this reads none.
func (b *batch) locate(ctx context.Context, todo []int) []item {
	var items []item
	var unknown []int
	var keys []lease.Key
	for _, i := range todo {
		w := b.writes[i]
		if w.Old == "" {
			items = append(items, item{i, nil})
		} else if p, ok := b.s.places.of(w.New.Key, w.Old); ok {
			items = append(items, item{i, &p})
		} else {
			unknown, keys = append(unknown, i), append(keys, w.New.Key)
		}
	}
	if len(keys) == 0 {
		return items
	}
	rs, err := b.s.Get(ctx, keys)
	if err != nil {
		b.fail(unknown, err)
		return items
	}
	for n, i := range unknown {
		if rs[n].Nonce != b.writes[i].Old {
			b.errs[i] = lease.ErrLost
			continue
		}
		p := placeOf(rs[n])
		items = append(items, item{i, &p})
	}
	return items
}

// run sends writes in transactions, and returns those whose old records had moved.
func (b *batch) run(ctx context.Context, items []item) (again []int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for len(items) > 0 {
		n := b.nextLen(items)
		part := items[:n]
		items = items[n:]
		b.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-b.slots }()
			moved := b.transact(ctx, part)
			mu.Lock()
			defer mu.Unlock()
			again = append(again, moved...)
		})
	}
	wg.Wait()
	return again
}

// nextLen returns how many items the next transaction has.
func (b *batch) nextLen(items []item) int {
	most := max(1, int(b.s.limit.Load())-opsPerWrite)
	bytes := 0
	for n, it := range items {
		r := b.writes[it.i].New
		inKeys := len(b.s.keys) + len(r.Namespace) + len(r.Nonce) + len(r.Holder) + len(r.Label)
		bytes += len(r.Data) + len(r.Veto) + 8*inKeys + 500
		if n > 0 && (n == most || bytes > maxBytes) {
			return n
		}
	}
	return len(items)
}

// transact sends writes in one transaction, or in shorter ones if the server wants those.
func (b *batch) transact(ctx context.Context, items []item) (again []int) {
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
			for n, it := range items {
				ops[n] = clientv3.OpTxn(b.txnOf(it))
			}
			resp, err = s.commit(ctx, same, ops, []clientv3.Op{id})
		}
		if err != nil && len(items) > 1 && s.lowerLimit(err, len(items)+opsPerWrite) {
			half := len(items) / 2
			return append(b.transact(ctx, items[:half]), b.transact(ctx, items[half:])...)
		}
		if err != nil {
			err = s.advice(err)
		}
	}
	if err == nil {
		return b.results(before, items, resp)
	}
	for _, it := range items {
		b.errs[it.i] = err
	}
	return nil
}

// txnOf returns the transaction of one write.
func (b *batch) txnOf(it item) (cmps []clientv3.Cmp, then, other []clientv3.Op) {
	w, ks := b.writes[it.i], b.s.keys
	k := w.New.Key
	record, due, label := ks.record(k), ks.due(k, w.New.Holder, w.New.Until), ks.label(k, w.New.Label)
	then = []clientv3.Op{clientv3.OpPut(record, encode(w.New, b.mark))}
	var oldDue, oldLabel string
	if it.old == nil {
		cmps = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(record), "=", 0)}
	} else {
		prefix := it.old.prefix()
		cmps = []clientv3.Cmp{
			clientv3.Compare(clientv3.Value(record), ">", prefix),
			clientv3.Compare(clientv3.Value(record), "<", beyond(prefix)),
		}
		oldDue, oldLabel = ks.due(k, it.old.holder, it.old.until), ks.label(k, it.old.label)
	}
	for _, entry := range [][2]string{{oldDue, due}, {oldLabel, label}} {
		if entry[0] == entry[1] {
			continue
		}
		if entry[0] != "" {
			then = append(then, clientv3.OpDelete(entry[0]))
		}
		if entry[1] != "" {
			then = append(then, clientv3.OpPut(entry[1], ""))
		}
	}
	return cmps, then, []clientv3.Op{clientv3.OpGet(record)}
}

// results reads the answer to a transaction.
func (b *batch) results(before seen, items []item, resp *clientv3.TxnResponse) (again []int) {
	id := before.id
	single := len(items) == 1
	if !resp.Succeeded {
		id = idVersionOf(resp.Responses[len(resp.Responses)-1].GetResponseRange())
	}
	err := b.s.observe(before, resp.Header, id)
	if err == nil && !single && !resp.Succeeded {
		err = errors.New("etcdstore: the server's answer contradicts itself")
	}
	if err != nil {
		for _, it := range items {
			b.errs[it.i] = err
		}
		return nil
	}
	var written []lease.Record
	for n, it := range items {
		done, responses := resp.Succeeded, resp.Responses
		if !single {
			inner := resp.Responses[n].GetResponseTxn()
			done, responses = inner.Succeeded, inner.Responses
		}
		if !done {
			var moved bool
			if moved, b.errs[it.i] = b.judgeConflict(it, responses[0].GetResponseRange()); moved {
				again = append(again, it.i)
			}
			continue
		}
		written = append(written, b.writes[it.i].New)
	}
	b.s.places.add(written)
	return again
}

// judgeConflict judges the record that a write found in place of the old one. moved means
// that it is the old one, with other fields in the index.
func (b *batch) judgeConflict(it item, found *pb.RangeResponse) (moved bool, err error) {
	w := b.writes[it.i]
	if len(found.Kvs) == 0 {
		return false, lease.ErrLost
	}
	r, mark, err := decode(w.New.Key, found.Kvs[0].Value)
	switch {
	case err != nil:
		return false, fmt.Errorf("etcdstore: %w", err)
	case r.Nonce == w.New.Nonce && mark == b.mark:
		b.s.places.add([]lease.Record{r})
		return false, nil // this very write, carried out twice
	case w.Old != "" && r.Nonce == w.Old:
		b.s.places.add([]lease.Record{r})
		return true, nil
	}
	return false, lease.ErrLost
}
