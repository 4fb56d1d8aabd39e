package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// maxEnds is of how many leases the end is looked up, so that a list of
// servers stays one question.
const maxEnds = 1000

// addEnds adds when the leases of servers end, as the store has it: their
// own records may be older than a ttl. A lease that has ended, or that
// another server holds now, has no end.
func addEnds(ctx context.Context, st store.Store, now time.Time, list []*pb.ServerInfo) error {
	if !slices.ContainsFunc(list, func(one *pb.ServerInfo) bool { return len(one.Nodes) > 0 }) {
		return nil
	}
	known := map[string]scope.Namespace{}
	all, err := scope.Namespaces(st).List(ctx)
	if err != nil {
		return fmt.Errorf("listing the namespaces of the servers: %w", err)
	}
	for _, ns := range all {
		known[ns.Name] = ns
	}
	var keys []store.Key
	var held []*pb.HeldNodes
	var labels []string
	for _, one := range list {
		for _, h := range one.Nodes {
			if _, ok := known[h.Namespace]; ok && len(keys) < maxEnds {
				keys = append(keys, store.Key{Namespace: h.Namespace, Node: h.FirstNode})
				held, labels = append(held, h), append(labels, one.Label)
			}
		}
	}
	records, err := st.Get(ctx, keys)
	if err != nil {
		return fmt.Errorf("reading the leases of the servers: %w", err)
	}
	for i, r := range records {
		ns := known[r.Namespace]
		if l := view.Lease(r, ns, ns.Layout, now); l.Held && l.Label == labels[i] {
			held[i].Until = l.UntilTime
		}
	}
	return nil
}
