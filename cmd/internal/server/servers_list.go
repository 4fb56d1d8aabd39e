package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ListServers lists the servers over a store that wrote their records
// within the last minute.
func ListServers(ctx context.Context, st store.Store) ([]*pb.ServerInfo, error) {
	return listServers(ctx, st, "")
}

func listServers(ctx context.Context, st store.Store, own string) ([]*pb.ServerInfo, error) {
	records, now, err := readServers(ctx, st)
	if err != nil {
		return nil, err
	}
	var out []*pb.ServerInfo
	for _, r := range records {
		if one, there := serverOf(r, now); there {
			one.This = one.Id == own
			out = append(out, one)
		}
	}
	if err := addEnds(ctx, st, now, out); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b *pb.ServerInfo) int { return cmp.Compare(a.Label, b.Label) })
	return out, nil
}

// readServers returns all records of servers, and the time by which they
// were written.
func readServers(ctx context.Context, st store.Store) ([]store.Record, time.Time, error) {
	reply, err := store.Ask(ctx, st, store.Servers)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("listing the servers: %w", err)
	}
	now := reply.Now
	if now.IsZero() { // a role of Redis that may only read does not get the time
		now = time.Now()
	}
	var out []store.Record
	for r, err := range store.Records(ctx, st, store.Servers, snowfence.NodeRange{Until: maxServers}) {
		if err != nil {
			return nil, now, fmt.Errorf("listing the servers: %w", err)
		}
		out = append(out, r)
	}
	return out, now, nil
}

// serverOf reads the record of a server, and reports whether that server
// still runs. A newer one may say more of itself.
func serverOf(r store.Record, now time.Time) (one *pb.ServerInfo, there bool) {
	one = &pb.ServerInfo{}
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal([]byte(r.Data), one)
	one.Label, one.Seen = r.Label, timestamppb.New(time.UnixMilli(r.At))
	one.Ready = one.Ready && r.At > now.Add(-LateAfter).UnixMilli()
	return one, r.At > now.Add(-goneAfter).UnixMilli() && err == nil
}

// maxEnds bounds the leases whose ends a list of servers reads, so that
// this stays a few questions.
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
	type lease struct {
		held  *pb.HeldNodes
		label string
	}
	leases, n := map[string][]lease{}, 0
	for _, one := range list {
		for _, h := range one.Nodes {
			if _, ok := known[h.Namespace]; ok && n < maxEnds {
				leases[h.Namespace] = append(leases[h.Namespace], lease{h, one.Label})
				n++
			}
		}
	}
	for name, some := range leases {
		keys := make([]store.Key, len(some))
		for i, l := range some {
			keys[i] = store.Key{Namespace: name, Node: l.held.FirstNode}
		}
		records, _, err := st.Get(ctx, keys)
		if err != nil {
			return fmt.Errorf("reading the leases of the servers: %w", err)
		}
		for i, r := range records {
			if l := view.Lease(r, known[name], known[name].Layout, now); l.Held && l.Label == some[i].label {
				some[i].held.Until = l.UntilTime
			}
		}
	}
	return nil
}
