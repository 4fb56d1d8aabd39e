package view

import (
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Namespace returns a namespace.
func Namespace(ns scope.Namespace) (*pb.Namespace, error) {
	l := ns.Layout
	out := &pb.Namespace{
		Name: ns.Name, Layout: l.String(), Fingerprint: ns.Fingerprint, FirstNode: ns.Nodes.From,
		LastNode: ns.Nodes.Until - 1, State: ns.State, Generation: ns.Generation,
		EndOfLife: moment(l.EndOfLife()), Floor: ns.Floor, Unit: ns.Unit,
		BackfillNumbers: ns.Backfill, BackfillStopped: ns.BackfillStopped, Others: ns.Others,
		MaxTtl: durationpb.New(ns.MaxTTL), MaxSkew: durationpb.New(ns.MaxSkew),
	}
	if nodes := ns.BackfillNodes; nodes.Until > 0 {
		out.BackfillFirstNode, out.BackfillLastNode = proto.Int64(nodes.From), proto.Int64(nodes.Until-1)
	}
	for _, r := range ns.Uncovered() {
		out.Uncovered = append(out.Uncovered, &pb.NodeRange{FirstNode: r.From, LastNode: r.Until - 1})
	}
	for _, r := range ns.History() {
		out.History = append(out.History, &pb.EarlierLayout{
			Layout: r.Layout.String(), From: moment(r.Layout.TimeOf(r.From)), Until: moment(r.Layout.TimeOf(r.Until)),
		})
	}
	for _, r := range ns.Regions {
		if r.Functions == nil {
			continue
		}
		f := &pb.Functions{
			Node: r.Nodes.From, Dialect: r.Functions.Dialect, Label: r.Functions.Label, Layout: r.Layout.String(),
			Printed: moment(time.UnixMilli(r.Functions.Printed)),
		}
		if r.Ended {
			f.Retired = moment(r.Layout.TimeOf(r.Until))
		}
		out.Functions = append(out.Functions, f)
	}
	return out, nil
}

// Current returns the record of a node without an earlier layout's grant:
// its ticks are of that layout, and the namespace's floor is above them.
func Current(r store.Record, ns scope.Namespace) store.Record {
	if r.Generation < ns.Since {
		r.Holder, r.From, r.Until = "", ns.Floor, ns.Floor
	}
	return r
}

// Inside reports whether a record is of a node inside a unit. Such a record
// is older than the present unit, and counts no more.
func Inside(r store.Record, ns scope.Namespace) bool { return r.Node&(ns.Unit-1) != 0 }

// Lease returns the present state in the record of a unit.
func Lease(r store.Record, ns scope.Namespace, l snowfence.Layout, now time.Time) *pb.LeaseInfo {
	r = Current(r, ns)
	until := max(r.Until, ns.Floor)
	out := &pb.LeaseInfo{
		Node: r.Node, LastNode: r.Node + ns.Unit - 1, Label: r.Label,
		Held: r.Held(l.TickOf(now)), Veto: r.Veto, Until: until,
		FromTime: moment(l.TimeOf(r.From)), UntilTime: moment(l.TimeOf(until)), Written: moment(time.UnixMilli(r.At)),
	}
	return out
}
