package rpc

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Nodes are freed and vetoed by number, and what cannot be is refused by its kind.
func TestNodesByNumber(t *testing.T) {
	w := start(t)
	c, ctx := w.leases(), t.Context()
	release := func(node int64) (*pb.LeaseInfo, error) {
		res, err := c.ReleaseNode(ctx, connect.NewRequest(&pb.ReleaseNodeRequest{Node: node}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	veto := func(node int64, reason string) (*pb.LeaseInfo, error) {
		res, err := c.Veto(ctx, connect.NewRequest(&pb.VetoRequest{Node: node, Reason: reason}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	node := int64(77)
	a, err := c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "gone", Node: &node}))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := release(node); err != nil || l.Held || !l.UntilTime.AsTime().Equal(a.Msg.UntilTime.AsTime()) {
		t.Errorf("%v, %v: released ticks stay granted, up to %v", l, err, a.Msg.UntilTime.AsTime())
	}
	_, err = c.Renew(ctx, connect.NewRequest(&pb.RenewRequest{Ticket: a.Msg.Ticket, Attempt: "attempt-0123456789"}))
	w.wants("the holder of a released node", err, connect.CodeAborted, "lost")
	if l, err := veto(node, "why"); err != nil || l.Veto != "why" {
		t.Errorf("%v, %v", l, err)
	}
	_, err = c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Node: &node}))
	w.wants("a vetoed node", err, connect.CodeFailedPrecondition, "refused")
	if l, err := veto(node, ""); err != nil || l.Veto != "" {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := c.Acquire(ctx, connect.NewRequest(&pb.AcquireRequest{Label: "me", Node: &node})); err != nil {
		t.Errorf("after the veto: %v", err)
	}
	_, err = release(1024)
	w.wants("no node of the layout", err, connect.CodeInvalidArgument, "invalid")
	_, err = release(-1)
	w.wants("a negative node", err, connect.CodeInvalidArgument, "invalid")
	_, err = release(78)
	w.wants("a node that was never leased", err, connect.CodeFailedPrecondition, "refused")
	_, err = veto(78, "\x1b[2J")
	w.wants("a reason that commands terminals", err, connect.CodeInvalidArgument, "invalid")
	w.as(server.Token{Verbs: []server.Verb{server.VerbManage}, Namespaces: []string{"orders"}})
	_, err = release(node)
	w.wants("another namespace than the token's", err, connect.CodePermissionDenied, "denied")
	_, err = veto(node, "x")
	w.wants("a veto in another namespace", err, connect.CodePermissionDenied, "denied")
}
