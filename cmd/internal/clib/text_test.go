package clib

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Texts name options of C in place of options of Go.
func TestTextsNameOptionsOfC(t *testing.T) {
	for text, want := range map[string]string{
		"set Options.Wait":      "set option wait=30s",
		"Options.Within is 3":   "option within is 3",
		"Config.Lead is -1":     "option lead is -1",
		"Options.Nodes is 3":    "option block is 3",
		"Options.Node is 3":     "option node is 3",
		"Options.TTL is 1":      "option ttl is 1",
		"Options.Label is long": "option label is long",
	} {
		if got := TextOf(errors.New(text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A namespace of a store of many machines is made by hand, as the error
// says.
func TestNamespaceThatDoesNotExist(t *testing.T) {
	st := &open.Store{Leases: store.NewMemory(), Name: "postgres://db"}
	o := &options{}
	_, err := useNamespace(t.Context(), st, "shop", o)
	wantStatus(t, err, Invalid)
	if err == nil || !strings.Contains(err.Error(), "snowfence namespace create shop") {
		t.Fatalf("%v", err)
	}
	s := must(snowfence.NewScheme(snowfence.Default()))
	must(scope.Namespaces(st.Leases).Create(t.Context(), "shop", s, nil))
	_, err = useNamespace(t.Context(), st, "shop", o)
	wantStatus(t, err, OK)
}
