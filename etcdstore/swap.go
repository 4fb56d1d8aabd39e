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
	// Comparisons of a transaction. One write alone makes five: two bounds
	// of its record, and three of the id. In a batch, a write compares the
	// two bounds only, and etcd allows so many writes fewer.
	opsAlone, opsAmong = 5, 2
	maxBytes           = 512 << 10 // of a transaction; etcd refuses 1.5 MiB by default
	// Transactions of a batch under way, so that it does not wait for each
	// one's disk.
	inFlight = 4
)

// batch is one call of Swap.
type batch struct {
	s    *Store
	mark string // of this call, stored with each record

	mu   sync.Mutex
	told store.Reply
	read []store.Record
}

// join takes in that a store answered a part.
func (b *batch) join(told store.Reply) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told.Join(told)
}

// Swap implements [store.Store]. It splits a batch into transactions of
// about 120 writes. Each write is a nested transaction, so a lost write
// does not undo the others. The store does not send a write again, unless
// the server refused a transaction for its length. It recognizes a
// transaction that a proxy repeated.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (_ []error, _ []store.Record, told store.Reply) {
	errs := make([]error, len(writes))
	err := store.Check(writes)
	if s.looks {
		err = fmt.Errorf("etcdstore: %w", store.ErrReadOnly)
	}
	if err != nil {
		fill(errs, err)
		return errs, nil, told
	}
	b := &batch{s: s, mark: rand.Text()[:10]}
	if n := b.nextLen(writes); n < len(writes) || n+len(then)+opsAlone > int(s.limit.Load()) {
		then = nil // they are read after all writes or not at all
	}
	slots := make(chan struct{}, inFlight)
	var wg sync.WaitGroup
	for at := 0; at < len(writes); {
		n := b.nextLen(writes[at:])
		part, results := writes[at:at+n], errs[at:at+n]
		at += n
		slots <- struct{}{}
		wg.Go(func() {
			b.sendWrites(ctx, part, then, results)
			<-slots
		})
	}
	wg.Wait()
	return errs, b.read, b.told
}

func fill(errs []error, err error) {
	for i := range errs {
		errs[i] = err
	}
}

// nextLen returns how many writes the next transaction has.
func (b *batch) nextLen(writes []store.Write) int {
	most := max(1, int(b.s.limit.Load())-opsAmong)
	bytes := 0
	for n, w := range writes {
		r := w.New
		texts := len(b.s.keys) + len(r.Namespace) + len(r.Nonce) + len(r.Holder) + len(r.Label)
		bytes += len(r.Data) + len(r.Veto) + 4*texts + 500
		if n > 0 && (n == most || bytes > maxBytes) {
			return n
		}
	}
	return len(writes)
}

// sendWrites sends writes in one transaction, which reads then, or in
// shorter ones if the server wants those, which do not.
func (b *batch) sendWrites(ctx context.Context, writes []store.Write, then []store.Key, errs []error) {
	s := b.s
	before, err := s.readySight(ctx)
	if err != nil {
		fill(errs, err)
		return
	}
	same, id := s.sameID(before.id), clientv3.OpGet(s.keys.idKey())
	var reads []clientv3.Op
	for _, k := range then {
		reads = append(reads, clientv3.OpGet(s.keys.recordKey(k)))
	}
	var resp *clientv3.TxnResponse
	if len(writes) == 1 {
		cmps, put, other := b.txnOf(writes[0])
		resp, err = s.commitTxn(ctx, append(cmps, same...), append(put, reads...), append(other, id))
	} else {
		ops := make([]clientv3.Op, len(writes))
		for i, w := range writes {
			ops[i] = clientv3.OpTxn(b.txnOf(w))
		}
		resp, err = s.commitTxn(ctx, same, append(ops, reads...), []clientv3.Op{id})
	}
	switch half := len(writes) / 2; {
	case err == nil:
		err = b.readResults(before, writes, then, resp, errs)
	case half > 0 && s.lowerLimit(err, len(writes)+len(then)+opsAmong):
		b.sendWrites(ctx, writes[:half], nil, errs[:half])
		b.sendWrites(ctx, writes[half:], nil, errs[half:])
		return
	default:
		err = s.adviseOn(err)
	}
	if err != nil {
		fill(errs, err)
	}
}

func (b *batch) txnOf(w store.Write) (cmps []clientv3.Cmp, then, other []clientv3.Op) {
	record := b.s.keys.recordKey(w.New.Key)
	if w.Old == "" {
		cmps = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(record), "=", 0)}
	} else {
		// A swap compares no other field and no revision. etcd compares
		// values as bytes. Values that begin with a nonce lie between its
		// front and the next greater text of that length.
		old := store.Front(w.Old)
		cmps = []clientv3.Cmp{
			clientv3.Compare(clientv3.Value(record), ">", old),
			clientv3.Compare(clientv3.Value(record), "<", beyond(old)),
		}
	}
	put := clientv3.OpPut(record, store.Encode(w.New, b.mark))
	return cmps, []clientv3.Op{put}, []clientv3.Op{clientv3.OpGet(record)}
}

// beyond returns the least text greater than all that begin with a front,
// which ends in a tab.
func beyond(front string) string { return front[:len(front)-1] + "\n" } // a tab is 9, a newline 10

// readResults reads the answer to a transaction.
func (b *batch) readResults(
	before seen, writes []store.Write, then []store.Key, resp *clientv3.TxnResponse, errs []error,
) error {
	id := before.id
	if !resp.Succeeded {
		id = idVersionOf(resp.Responses[len(resp.Responses)-1].GetResponseRange())
	}
	err := b.s.checkAnswer(before, resp.Header, id)
	if err == nil {
		err = b.join(before.reply())
	}
	switch {
	case err != nil:
		return err
	case len(writes) == 1:
		if !resp.Succeeded {
			errs[0] = b.judgeConflict(writes[0], resp.Responses[0].GetResponseRange())
			return nil
		}
		return b.readAfter(then, resp.Responses[1:])
	case !resp.Succeeded:
		return errors.New("etcdstore: the server's answer contradicts itself")
	}
	for i, w := range writes {
		if inner := resp.Responses[i].GetResponseTxn(); !inner.Succeeded {
			errs[i] = b.judgeConflict(w, inner.Responses[0].GetResponseRange())
		}
	}
	return b.readAfter(then, resp.Responses[len(writes):])
}

// readAfter keeps the records that were read after the writes.
func (b *batch) readAfter(then []store.Key, answers []*pb.ResponseOp) (err error) {
	for i, k := range then {
		r := store.Record{Key: k}
		if kvs := answers[i].GetResponseRange().Kvs; len(kvs) > 0 {
			if r, _, err = store.Decode(k, string(kvs[0].Value)); err != nil {
				return fmt.Errorf("etcdstore: %w", err)
			}
		}
		b.read = append(b.read, r)
	}
	return nil
}

// judgeConflict judges the record that a write found in place of the old
// one.
func (b *batch) judgeConflict(w store.Write, found *pb.RangeResponse) error {
	if len(found.Kvs) == 0 {
		return store.ErrLost
	}
	r, mark, err := store.Decode(w.New.Key, string(found.Kvs[0].Value))
	switch {
	case err != nil:
		return fmt.Errorf("etcdstore: %w", err)
	case r.Nonce == w.New.Nonce && mark == b.mark:
		return nil // this very write, carried out twice
	}
	return store.ErrLost
}
