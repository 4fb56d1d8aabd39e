package namespaces

import (
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

// The command first gives the store another identity, and raises the floors
// after that. So programs see the loss even if the command is interrupted.
func TestAnotherIdentity(t *testing.T) {
	st := store.NewMemory()
	seen := map[string]bool{}
	for range 3 { // it may be repeated
		id, err := store.Identity(t.Context(), st, "")
		if err != nil || seen[id] {
			t.Fatalf("identity %q, %v; seen were %v", id, err, seen)
		}
		seen[id] = true
		tests.NoError(t, anotherIdentity(t.Context(), st))
	}
}
