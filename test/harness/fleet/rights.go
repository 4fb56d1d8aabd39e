package fleet

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Statements are the administrator's statements in the error of a user
// without the right to make tables.
func Statements(t *testing.T, st store.Store) string {
	t.Helper()
	_, err := scope.Namespaces(st).List(t.Context())
	if err == nil {
		t.Fatal("the user may do everything")
	}
	_, statements, found := strings.Cut(err.Error(), "run these statements, and start again:\n")
	if !found {
		t.Fatal(err)
	}
	return statements
}
