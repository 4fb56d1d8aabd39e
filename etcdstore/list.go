package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

const paged = 4096 // records in one answer

// listing is one list at one revision.
type listing struct {
	s        *Store
	revision int64 // 0 until the first answer
	told     store.Reply
}

// List implements [store.Store]. It reads everything at the revision of its
// first read.
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	if nodes.From >= nodes.Until {
		return nil, store.Reply{}, nil
	}
	return s.atOnce(func(l *listing) ([]store.Record, error) { return l.readNodes(ctx, namespace, nodes, limit) })
}

// Heads implements [store.Store]. It also reads everything at one revision.
func (s *Store) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return s.atOnce(func(l *listing) ([]store.Record, error) { return l.readHeads(ctx) })
}

// atOnce lists, and begins again with the present if etcd was compacted in
// the middle.
func (s *Store) atOnce(list func(*listing) ([]store.Record, error)) ([]store.Record, store.Reply, error) {
	for attempt := 0; ; attempt++ {
		l := &listing{s: s}
		out, err := list(l)
		if !errors.Is(err, rpctypes.ErrCompacted) || attempt == 3 {
			return out, l.told, err
		}
	}
}

// readNodes reads the records of the nodes, up to a limit.
func (l *listing) readNodes(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (out []store.Record, err error) {
	base, from, end := l.s.keys.recordRange(namespace, nodes)
	for {
		page := min(paged, limit-len(out))
		a, err := l.readRange(ctx, from, end, page)
		if err != nil {
			return nil, err
		}
		kvs := a.ranges[0].Kvs
		for _, kv := range kvs {
			node, err := store.ParseNodeText(strings.TrimPrefix(string(kv.Key), base))
			if err != nil {
				return nil, fmt.Errorf("etcdstore: the key %q: %w", kv.Key, err)
			}
			r, _, err := store.Decode(store.Key{Namespace: namespace, Node: node}, string(kv.Value))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		if len(kvs) < page || len(out) == limit {
			return out, nil
		}
		from = string(kvs[len(kvs)-1].Key) + "\x00"
	}
}

// readRange reads a range of keys in order.
func (l *listing) readRange(
	ctx context.Context, from, end string, limit int, opts ...clientv3.OpOption,
) (reply, error) {
	opts = append(opts, clientv3.WithRange(end), clientv3.WithLimit(int64(limit)), clientv3.WithRev(l.revision))
	a, err := l.s.sendReads(ctx, clientv3.OpGet(from, opts...))
	if err == nil && l.revision == 0 {
		l.revision = a.revision
	}
	if err == nil {
		err = l.told.Join(a.told)
	}
	return a, err
}

// readHeads jumps from the first key of a namespace to the first of the
// next. It sorts the names by their bytes: escaped names have another
// order.
func (l *listing) readHeads(ctx context.Context) ([]store.Record, error) {
	var out []store.Record
	ks := l.s.keys
	from, end := string(ks)+"r/", string(ks)+"r0"
	for {
		a, err := l.readRange(ctx, from, end, 1, clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		if len(a.ranges[0].Kvs) == 0 {
			break
		}
		name, err := ks.namespaceOf(string(a.ranges[0].Kvs[0].Key))
		if err != nil {
			return nil, err
		}
		heads := snowfence.NodeRange{From: store.SequenceNode, Until: store.NamespaceNode + 1}
		rs, err := l.readNodes(ctx, name, heads, 2)
		if err != nil {
			return nil, err
		}
		out = append(out, rs...)
		from = ks.keyAfter(name)
	}
	slices.SortStableFunc(out, func(a, b store.Record) int { return strings.Compare(a.Namespace, b.Namespace) })
	return out, nil
}
