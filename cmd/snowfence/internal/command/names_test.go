package command

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The command line refuses the names that the library refuses, and no
// other.
func TestNamesAreThoseOfTheLibrary(t *testing.T) {
	s := tests.Must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	names := []string{"", "a\n", strings.Repeat("a", 64), strings.Repeat("a", 65), "ü", "..", "-"}
	for c := range 256 {
		names = append(names, "a"+string([]byte{byte(c)}))
	}
	for _, name := range names {
		_, want := scope.Namespaces(store.NewMemory()).Create(t.Context(), name, s, nil)
		if got := CheckName(name); (got == nil) != (want == nil) {
			t.Errorf("%q: %v, but the library says %v", name, got, want)
		}
	}
}
