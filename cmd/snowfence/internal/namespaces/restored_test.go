package namespaces

import (
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

// The store has another identity before floors are raised, so that what an
// interrupted command left out is seen as a loss.
func TestAnotherIdentity(t *testing.T) {
	st := store.NewMemory()
	seen := map[string]bool{}
	for range 3 { // it may be repeated
		id, err := st.Identity(t.Context(), "")
		if err != nil || seen[id] {
			t.Fatalf("identity %q, %v; seen were %v", id, err, seen)
		}
		seen[id] = true
		if err := anotherIdentity(t.Context(), st); err != nil {
			t.Fatal(err)
		}
	}
}
