package etcdstore

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease"
)

const paged = 4096 // keys or records in one answer

// List implements [lease.Store]. It reads everything at the revision of its first read.
// Queries by label, or by until with a limit, read an index; others read the records of the
// nodes.
func (s *Store) List(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	if q.Nodes.From >= q.Nodes.Until {
		return nil, nil
	}
	for attempt := 0; ; attempt++ {
		out, err := (&listing{s: s, q: q}).run(ctx)
		if errors.Is(err, rpctypes.ErrCompacted) && attempt < 3 {
			continue // in the middle of a long list; begin again with the present
		}
		if err != nil {
			return nil, err
		}
		slices.SortFunc(out, q.Compare)
		if q.Limit > 0 && len(out) > q.Limit {
			out = out[:q.Limit]
		}
		return out, nil
	}
}

// listing is one list at one revision.
type listing struct {
	s        *Store
	q        lease.Query
	revision int64 // 0 until the first answer
}

func (l *listing) run(ctx context.Context) ([]lease.Record, error) {
	q, ks := l.q, l.s.keys
	switch {
	case q.Namespace == "":
		return l.namespaces(ctx)
	case q.Label != "":
		from := ks.labels(q.Namespace, q.Label)
		return l.indexed(ctx, from+sortable(q.Nodes.From), from+sortable(q.Nodes.Until))
	case q.ByUntil && q.Limit > 0:
		from, end := ks.dues(vacant, q.Namespace, q.MaxUntil)
		out, err := l.indexed(ctx, from, end)
		if err != nil || q.Vacant {
			return out, err
		}
		from, end = ks.dues(held, q.Namespace, q.MaxUntil)
		more, err := l.indexed(ctx, from, end)
		return append(out, more...), err
	}
	return l.scan(ctx)
}

// get reads a range of keys in order.
func (l *listing) get(ctx context.Context, from, end string, limit int, opts ...clientv3.OpOption) (reply, error) {
	opts = append(opts, clientv3.WithRange(end), clientv3.WithLimit(int64(limit)), clientv3.WithRev(l.revision))
	a, err := l.s.read(ctx, clientv3.OpGet(from, opts...))
	if err == nil && l.revision == 0 {
		l.revision = a.revision
	}
	return a, err
}

// namespaces lists all namespaces: it jumps from the first key of one to that of the next.
func (l *listing) namespaces(ctx context.Context) (out []lease.Record, err error) {
	from, end := l.s.keys.namespaces("", true)
	for {
		a, err := l.get(ctx, from, end, 1, clientv3.WithKeysOnly())
		if err != nil || len(a.ranges[0].Kvs) == 0 {
			return out, err
		}
		name, err := l.s.keys.namespaceOf(string(a.ranges[0].Kvs[0].Key))
		if err != nil {
			return nil, err
		}
		one := *l
		one.q.Namespace = name
		rs, err := one.run(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, rs...)
		from, end = l.s.keys.namespaces(name, false)
	}
}

// scan reads the records of the nodes.
func (l *listing) scan(ctx context.Context) (out []lease.Record, err error) {
	page := paged
	filtered := l.q.Label != "" || l.q.MaxUntil != 0 || l.q.Vacant || l.q.ByUntil
	if l.q.Limit > 0 && !filtered {
		page = min(page, l.q.Limit)
	}
	from, end := l.s.keys.records(l.q.Namespace, l.q.Nodes)
	for {
		a, err := l.get(ctx, from, end, page)
		if err != nil {
			return nil, err
		}
		kvs := a.ranges[0].Kvs
		for _, kv := range kvs {
			node, err := nodeOf(string(kv.Key))
			if err != nil {
				return nil, err
			}
			r, _, err := decode(lease.Key{Namespace: l.q.Namespace, Node: node}, kv.Value)
			if err != nil {
				return nil, err
			}
			if l.q.Match(r) {
				out = append(out, r)
			}
		}
		if len(kvs) < page || l.q.Limit > 0 && len(out) >= l.q.Limit && !l.q.ByUntil {
			return out, nil
		}
		from = string(kvs[len(kvs)-1].Key) + "\x00"
	}
}

// indexed reads entries of an index and their records, until there are enough.
func (l *listing) indexed(ctx context.Context, from, end string) (out []lease.Record, err error) {
	page := paged
	if l.q.Limit > 0 {
		page = max(32, min(paged, l.q.Limit))
	}
	sorted := l.q.Label == "" == l.q.ByUntil // the index has the order asked for
	for {
		a, err := l.get(ctx, from, end, page, clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		kvs := a.ranges[0].Kvs
		var keys []lease.Key
		for _, kv := range kvs {
			node, err := nodeOf(string(kv.Key))
			if err != nil {
				return nil, err
			}
			if node >= l.q.Nodes.From && node < l.q.Nodes.Until {
				keys = append(keys, lease.Key{Namespace: l.q.Namespace, Node: node})
			}
		}
		rs, err := l.s.fetch(ctx, keys, l.revision)
		if err != nil {
			return nil, err
		}
		for _, r := range rs {
			if r.Nonce != "" && l.q.Match(r) {
				out = append(out, r)
			}
		}
		if len(kvs) < page || sorted && l.q.Limit > 0 && len(out) >= l.q.Limit {
			return out, nil
		}
		from = string(kvs[len(kvs)-1].Key) + "\x00"
	}
}
