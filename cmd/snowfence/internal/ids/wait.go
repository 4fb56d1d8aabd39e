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

// whyLeasedLater tells the facts of the node that begins later.
func whyLeasedLater(ctx context.Context, st *open.Store, f *newFlags, g snowfence.Grant) string {
	ns, err := scope.Namespaces(st.Leases).Show(ctx, f.store.Namespace)
	if err != nil {
		return fmt.Sprintf("node %d was leased up to there", g.Node)
	}
	until := command.FormatTime(ns.Layout.TimeOf(g.From))
	switch {
	case ns.Floor >= g.From:
		return fmt.Sprintf("all nodes of namespace %q begin at %s, because its layout was changed, or its store "+
			"was rolled back or moved", ns.Name, until)
	case f.node.node == "":
		return fmt.Sprintf("no other node is free, and node %d is used up to %s", g.Node, until)
	}
	return fmt.Sprintf("node %d is used up to %s, because its last holder did not give it back, or a clock was ahead, "+
		"or this one is behind; another node begins at once (leave --node out)", g.Node, until)
}
