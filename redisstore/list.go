package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/snowfence/snowfence/lease"
)

// index is a range of a sorted set whose last 16 bytes are a node.
type index struct {
	key      int
	min, max string // as ZRANGEBYLEX wants them
	inOrder  bool   // it is sorted as the query asks
}

// indexFor chooses the narrowest index for a query, with the order that a limit needs.
func indexFor(q lease.Query) index {
	top := "(\xff"
	if q.MaxUntil != 0 {
		top = "[" + sortable(q.MaxUntil) + "\xff"
	}
	switch {
	case q.Label != "":
		k := labelKey(q.Label)
		return index{keyLabels, "[" + k + sortable(q.Nodes.From), "(" + k + sortable(q.Nodes.Until), !q.ByUntil}
	case q.Vacant:
		return index{keyVacant, "-", top, q.ByUntil}
	case q.ByUntil || q.MaxUntil != 0:
		return index{keyUntil, "-", top, q.ByUntil}
	}
	return index{keyNodes, "[" + sortable(q.Nodes.From), "(" + sortable(q.Nodes.Until), true}
}

// List implements [lease.Store]. It reads pages of 500 records. In lists by until, a record
// that is written meanwhile may be missed, or be old or new; in others it is there, because
// nodes stay where they are.
func (s *Store) List(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	if q.Nodes.From >= q.Nodes.Until {
		return nil, nil
	}
	if q.Namespace != "" {
		return s.listOne(ctx, q)
	}
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	var out []lease.Record
	for _, name := range names {
		one := q
		one.Namespace = name
		rs, err := s.listOne(ctx, one)
		if err != nil {
			return nil, err
		}
		out = append(out, rs...)
	}
	return sortAndLimit(q, out), nil
}

// names returns the names of all namespaces that were ever written to, sorted.
func (s *Store) names(ctx context.Context) ([]string, error) {
	names, err := s.client.Do(ctx, s.client.B().Smembers().Key(s.namespaces()).Build()).AsStrSlice()
	if err != nil {
		return nil, s.fail(listName, err)
	}
	slices.Sort(names)
	return names, nil
}

// sortAndLimit sorts the records and leaves the first ones.
func sortAndLimit(q lease.Query, rs []lease.Record) []lease.Record {
	slices.SortFunc(rs, q.Compare)
	if q.Limit > 0 && len(rs) > q.Limit {
		rs = rs[:q.Limit]
	}
	return rs
}

func (s *Store) listOne(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	x := indexFor(q)
	var out []lease.Record
	found := map[lease.Key]bool{} // one that moves ahead of the pages comes again
	for {
		page := chunk
		if x.inOrder && q.Limit > 0 {
			page = min(chunk, q.Limit)
		}
		a, err := s.read(ctx, q.Namespace, "range", strconv.Itoa(x.key), x.min, x.max, strconv.Itoa(page))
		if err != nil {
			return nil, err
		}
		if len(a.body) < 2 {
			return nil, s.fail(q.Namespace, errShort)
		}
		members, err := a.body[1].AsStrSlice()
		if err != nil {
			return nil, s.fail(q.Namespace, err)
		}
		for i, m := range members {
			node, err := parseSortable(m[max(0, len(m)-16):])
			if err != nil {
				return nil, s.fail(q.Namespace, errDamaged)
			}
			r, err := a.record(i, lease.Key{Namespace: q.Namespace, Node: node})
			if err != nil {
				return nil, err
			}
			if q.Match(r) && r.Nonce != "" && !found[r.Key] {
				found[r.Key] = true
				out = append(out, r)
			}
		}
		if len(members) < page || x.inOrder && q.Limit > 0 && len(out) >= q.Limit {
			return sortAndLimit(q, out), nil
		}
		x.min = "(" + members[len(members)-1]
	}
}
