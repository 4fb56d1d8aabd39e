package scope_test

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A backup is older than the last renewal. Who is told to restore one is
// told to run restored, too, or the next holders repeat IDs.
func TestDamagedNamespaceSaysWhatIsSafe(t *testing.T) {
	st := store.NewMemory()
	must(scope.Namespaces(st).Create(t.Context(), "orders", newScheme(t, sqlSpec), nil))
	rs := got(st.Get(t.Context(), []store.Key{{Namespace: "orders", Node: store.NamespaceNode}}))
	r := rs[0]
	r.Nonce, r.Data = "another", "{"
	must(store.Put(t.Context(), st, store.Write{Old: rs[0].Nonce, New: r}))
	_, err := scope.Namespaces(st).Show(t.Context(), "orders")
	if err == nil || !strings.Contains(err.Error(),
		"stop the programs of this store, restore a backup, and run snowfence store restored before one starts") {
		t.Errorf("%v", err)
	}
}
