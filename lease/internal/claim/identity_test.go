package claim

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
)

// A store that tells less of itself is used again after an operator
// accepted that. What it tells more counts from then on.
func TestIdentityOfFewerSources(t *testing.T) {
	g := holding(t)
	g.rename(func(ns *scope.Namespace) { ns.Identity = "s:1:2" })
	g.id = "s:-:2"
	is := func(want string) {
		t.Helper()
		if ns := g.namespace(); ns.Identity != want || ns.Generation != 1 {
			t.Errorf("the namespace has seen %q in generation %d, not %q", ns.Identity, ns.Generation, want)
		}
	}
	_, renewed := g.c.proceed(t.Context())
	_, used := g.c.usable(t.Context())
	raised := g.c.raiseFloor(t.Context(), never)
	_, restored := scope.Namespaces(storage{g.play}).Restored(t.Context(), "n")
	for _, err := range []error{renewed, used, raised, restored} {
		if !errors.Is(err, fault.ErrRefused) || IsLost(err) {
			t.Errorf("less of the identity: %v", err)
		}
	}
	is("s:1:2")
	if told := g.players["stage"].events.kinds; g.c.held == nil || len(told) > 0 {
		t.Fatalf("the hold is lost, or another store is reported: %q", told)
	}
	must(scope.Namespaces(storage{g.play}).Confirm(t.Context(), "n"))
	is("s:-:2")
	g.must(second(g.c.proceed(t.Context())))
	g.id = "s:1:2"
	g.must(second(g.c.proceed(t.Context())))
	is("s:1:2")
	g.rename(func(ns *scope.Namespace) { ns.Identity = "s:1:-" })
	g.must(second(g.c.usable(t.Context())))
	is("s:1:2")
	g.id = "s:1:3"
	if _, err := g.c.proceed(t.Context()); !IsLost(err) || g.c.lossAfter == nil {
		t.Errorf("another store: %v", err)
	}
}

func never(scope.Namespace, string) bool { return false }
