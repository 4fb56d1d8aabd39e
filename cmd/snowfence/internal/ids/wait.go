package ids

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// explainWait says why nothing happens for a while, and ends a run that
// would wait in vain.
func explainWait(ctx context.Context, e *command.Env, grant snowfence.Grant, src *source, lead int64) error {
	layout := src.fence.Scheme().Layout()
	ahead := layout.TimeOf(grant.From - lead).Sub(e.Now())
	if ahead <= time.Second || e.Now().Before(layout.TimeOf(0)) { // the generator says that the epoch is ahead
		return nil
	}
	left, why := show.Approximately(ahead.Seconds()), src.whyLater(ctx, grant)
	if ahead > command.MaxWait {
		return fmt.Errorf("the first ID can be made in %s, and this command waits %v at most, so run it again "+
			"then: %s", left, command.MaxWait, why)
	}
	e.Message("the first ID can be made in %s; this command waits, and you need to do nothing: %s", left, why)
	return nil
}

// whyLeasedLater tells the facts of the node and its last holder. before is
// the node's record before this run leased it, if the user named the node.
func whyLeasedLater(ctx context.Context, e *command.Env, st *open.Store, f *newFlags, before *store.Record,
	g snowfence.Grant,
) string {
	unknown := fmt.Sprintf("node %d was leased up to there", g.Node)
	ns, err := scope.Namespaces(st.Leases).Show(ctx, f.store.Namespace)
	if err != nil {
		return unknown
	}
	l := ns.Layout
	now := e.Now()
	until := command.FormatTime(l.TimeOf(g.From))
	switch {
	case ns.Floor >= g.From:
		return fmt.Sprintf("all nodes of namespace %q begin at %s, because its layout was changed, or its store "+
			"was rolled back or moved", ns.Name, until)
	case before == nil:
		return fmt.Sprintf("no other node is free, and node %d is used up to %s", g.Node, until)
	}
	fast := time.UnixMilli(before.At).After(now.Add(time.Second)) || l.TimeOf(g.From).Sub(now) > time.Minute
	held := before.Holder != ""
	why := "it was cleared while it was leased"
	switch {
	case held && fast:
		why = "it was not given back by its last holder (a crash, or it still runs), whose clock was ahead, or this " +
			"one is behind"
	case held:
		why = "it was not given back by its last holder (a crash, or it still runs)"
	case fast:
		why = "the clock was ahead when it was given back, or is behind now"
	}
	return fmt.Sprintf("node %d is used up to %s, because %s; another node begins at once (leave --node out)", g.Node,
		until, why)
}
