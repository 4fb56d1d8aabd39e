package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// List implements [store.Store]. It reads pages of 500 records.
func (s *Store) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (out []store.Record, reply store.Reply, err error) {
	low, high := "["+store.NodeText(nodes.From), "("+store.NodeText(nodes.Until)
	for {
		page := min(chunk, limit-len(out))
		a, err := s.runRead(ctx, namespace, "range", low, high, strconv.Itoa(page))
		if err == nil {
			err = reply.Join(a.told())
		}
		if err != nil {
			return nil, reply, err
		}
		if len(a.body) < 2 {
			return nil, reply, s.explainError(namespace, errShort)
		}
		members, err := a.body[1].AsStrSlice()
		if err != nil {
			return nil, reply, s.explainError(namespace, err)
		}
		for i, m := range members {
			node, err := store.ParseNodeText(m)
			if err != nil {
				return nil, reply, s.explainError(namespace, err)
			}
			r, err := a.decodeRecord(0, i, store.Key{Namespace: namespace, Node: node})
			if err != nil {
				return nil, reply, err
			}
			if r.Nonce != "" {
				out = append(out, r)
			}
		}
		if len(members) < page || len(out) == limit {
			return out, reply, nil
		}
		low = "(" + members[len(members)-1]
	}
}

// Heads implements [store.Store]. It reads the set of all namespaces that
// ever had a record.
func (s *Store) Heads(ctx context.Context) (out []store.Record, reply store.Reply, err error) {
	names, err := s.listNames(ctx)
	if err != nil {
		return nil, reply, err
	}
	var keys []store.Key
	for _, n := range names {
		keys = append(keys,
			store.Key{Namespace: n, Node: store.SequenceNode}, store.Key{Namespace: n, Node: store.NamespaceNode})
	}
	if out, _, err = s.Get(ctx, keys); err != nil {
		return nil, reply, err
	}
	whole, err := s.runRead(ctx, listName, "get", store.NodeText(0))
	return slices.DeleteFunc(out, func(r store.Record) bool { return r.Nonce == "" }), whole.told(), err
}

// listNames returns the list of all namespaces that were ever written to,
// in their order.
func (s *Store) listNames(ctx context.Context) ([]string, error) {
	ctx, cancel := limit(ctx, answerTimeout)
	defer cancel()
	names, err := s.client.Do(ctx, s.client.B().Smembers().Key(s.namespaces()).Build()).AsStrSlice()
	if err != nil {
		return nil, s.explainError(listName, err)
	}
	slices.Sort(names)
	return names, nil
}
