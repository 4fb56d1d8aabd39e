package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/snowfence/snowfence/lease/store"
)

// version is the version of the keys and values below the prefix.
const version = "2"

// seen has the facts of the server from its answers. An operation that
// learns of another store fails. So no write counts that one store
// acknowledged and another one confirmed.
type seen struct {
	ready      bool
	cluster    uint64
	id         idVersion // of the id key
	revision   int64     // highest revision of the cluster that was seen
	change     int64     // latest change of the id key that was seen
	rolledBack bool      // the revision fell: the id has to be changed
}

// idVersion is the id key: its value, and the revisions of its creation and
// last change. Putting a copy back changes these; restoring a snapshot does
// not.
type idVersion struct {
	value                  string
	createRevision, change int64
}

func idVersionOf(r *pb.RangeResponse) idVersion {
	if len(r.Kvs) == 0 {
		return idVersion{}
	}
	return idVersion{string(r.Kvs[0].Value), r.Kvs[0].CreateRevision, r.Kvs[0].ModRevision}
}

// sameID returns the condition that the id key has not changed.
func (s *Store) sameID(id idVersion) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(s.keys.idKey()), "=", id.createRevision),
		clientv3.Compare(clientv3.ModRevision(s.keys.idKey()), "=", id.change),
		clientv3.Compare(clientv3.Value(s.keys.idKey()), "=", id.value),
	}
}

func (now seen) identity() string {
	id := now.id
	text := strings.TrimPrefix(id.value, version+" ")
	return fmt.Sprintf("etcd:%x:%s:%d.%d", now.cluster, text, id.createRevision, id.change)
}

// reply is of an answer by the store that was seen before: each other one
// is refused. etcd has no clock. All namespaces share the identity.
func (now seen) reply() store.Reply { return store.Reply{Identity: now.identity()} }

// Suspect implements [store.Store], as if the revision had fallen.
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if _, err := s.readySight(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.seen.identity() == identity {
		s.seen.rolledBack, s.seen.ready = true, false
	}
	s.mu.Unlock()
	_, err := s.readySight(ctx)
	return err
}

// readySight returns the latest sight. At the first use, and after a
// rollback, it finds or writes the id.
func (s *Store) readySight(ctx context.Context) (seen, error) {
	if now := s.lastSeen(); now.ready {
		return now, nil
	}
	select {
	case s.prepareGate <- struct{}{}:
		defer func() { <-s.prepareGate }()
	case <-ctx.Done():
		return seen{}, fmt.Errorf("etcdstore: waiting for the first answer: %w", ctx.Err())
	}
	now := s.lastSeen()
	if now.ready {
		return now, nil
	}
	key := s.keys.idKey()
	fresh := version + " " + rand.Text()
	get, put := clientv3.OpGet(key), clientv3.OpPut(key, fresh)
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), s.timeout)
	defer cancel()
	// Reading comes first, for users with the right to read only.
	resp, err := s.kv.Txn(ctx).Then(get).Commit()
	if err == nil {
		found := idVersionOf(resp.Responses[0].GetResponseRange())
		// Only a later change shows that another process saw the fall. A
		// program that only looks takes any other id.
		fell := now.rolledBack || now.cluster == resp.Header.ClusterId && resp.Header.Revision < now.revision
		back := fell && (found == now.id || !s.looks && found.change <= now.change) || slices.Contains(s.past, found)
		switch {
		case s.looks && (found == idVersion{} || back):
			return seen{}, fmt.Errorf("etcdstore: the keys below %q were never used, or they were rolled back: %w",
				string(s.keys), store.ErrReadOnly)
		case found == idVersion{}:
			absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
			resp, err = s.kv.Txn(ctx).If(absent).Then(put, get).Else(get).Commit()
		case back: // no other process has changed it yet
			resp, err = s.kv.Txn(ctx).If(s.sameID(found)...).Then(put, get).Else(get).Commit()
		}
	}
	if err != nil {
		return seen{}, s.adviseOn(err)
	}
	last := resp.Responses[len(resp.Responses)-1].GetResponseRange()
	if len(last.Kvs) == 0 {
		return seen{}, fmt.Errorf("etcdstore: the key %q vanished: another program deletes it", key)
	}
	id := idVersionOf(last)
	if v, _, _ := strings.Cut(id.value, " "); v != version {
		return seen{}, fmt.Errorf("etcdstore: the keys below %q have version %q, and this program knows version "+
			"%q: use a newer program, or another prefix", string(s.keys), v, version)
	}
	if now.id != id && now.cluster == resp.Header.ClusterId {
		s.past = append(s.past, now.id) // comes back only if a snapshot is restored again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := resp.Header
	s.seen = seen{ready: true, cluster: h.ClusterId, id: id, revision: h.Revision, change: id.change}
	return s.seen, nil
}

func (s *Store) lastSeen() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// reply is the answer of a transaction of reads.
type reply struct {
	told     store.Reply
	revision int64
	ranges   []*pb.RangeResponse
}

// sendReads sends reads, and repeats them while no leader answers. That is
// safe for reads, and a leader comes back when members change.
func (s *Store) sendReads(ctx context.Context, ops ...clientv3.Op) (reply, error) {
	for start := time.Now(); ; {
		before, err := s.readySight(ctx)
		if err == nil {
			var resp *clientv3.TxnResponse
			all := append([]clientv3.Op{clientv3.OpGet(s.keys.idKey())}, ops...)
			if resp, err = s.commitTxn(ctx, nil, all, nil); err == nil {
				return s.readReply(before, resp)
			}
			if errors.Is(err, rpctypes.ErrTooManyOps) && s.lowerLimit(err, 1+len(ops)) {
				return reply{}, errFewerOps
			}
			err = s.adviseOn(err)
		}
		if !isTransient(err) || time.Since(start) > s.timeout {
			return reply{}, err
		}
		timer := time.NewTimer(s.timeout / 50)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return reply{}, fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// errFewerOps means that the server refused the length of a transaction,
// and the limit is lower now.
var errFewerOps = errors.New("etcdstore: the transaction has too many operations for the server")

func (s *Store) readReply(before seen, resp *clientv3.TxnResponse) (reply, error) {
	ranges := make([]*pb.RangeResponse, len(resp.Responses))
	for i, r := range resp.Responses {
		ranges[i] = r.GetResponseRange()
	}
	err := s.checkAnswer(before, resp.Header, idVersionOf(ranges[0]))
	return reply{before.reply(), resp.Header.Revision, ranges[1:]}, err
}

// checkAnswer compares the cluster of the answer with the one before, and
// refuses another's answer. It compares the revision with the highest one
// before the question, because concurrent answers come in any order.
func (s *Store) checkAnswer(before seen, h *pb.ResponseHeader, id idVersion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := &s.seen
	same := now.cluster == before.cluster && now.id == before.id // no other call asked for the id since
	var err error
	switch {
	case h.ClusterId != before.cluster:
		err = fmt.Errorf("etcdstore: the cluster %x answered where %x had: it was restored from a snapshot, or "+
			"the endpoints belong to two clusters", h.ClusterId, before.cluster)
	case h.Revision < before.revision:
		err = fmt.Errorf("etcdstore: the cluster went back from revision %d to %d: its data was rolled back",
			before.revision, h.Revision)
		now.rolledBack = now.rolledBack || same
	default:
		if same {
			now.revision, now.change = max(now.revision, h.Revision), max(now.change, id.change)
		}
		if id != before.id {
			err = fmt.Errorf("etcdstore: the key %q was changed, deleted or restored: this counts as another store",
				s.keys.idKey())
		}
	}
	now.ready = now.ready && (err == nil || !same)
	return err
}

// commitTxn runs one transaction within the Timeout, on a member that has a
// leader.
func (s *Store) commitTxn(
	ctx context.Context, cmps []clientv3.Cmp, then, other []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), s.timeout)
	defer cancel()
	return s.kv.Txn(ctx).If(cmps...).Then(then...).Else(other...).Commit()
}
