package lease_test

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

func TestWithinRefused(t *testing.T) {
	st, s := store.NewMemory(), newScheme(t, "time=41,node=6,seq=12")
	must(scope.Namespaces(st).Create(t.Context(), "default", s,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 30, Until: 64}}))
	five := int64(5)
	for want, o := range map[string]lease.Options{
		"layout has nodes 0 to 63":        {Within: snowfence.NodeRange{From: 60, Until: 65}},
		"is nodes 9 to 8":                 {Within: snowfence.NodeRange{From: 9, Until: 9}},
		"leave one of them out":           {Within: snowfence.NodeRange{From: 30, Until: 40}, Node: &five},
		"can lease the nodes 30 to 63":    {Within: snowfence.NodeRange{From: 0, Until: 30}},
		"fewer than 4 of them are in 0 t": {Within: snowfence.NodeRange{From: 0, Until: 32}, Nodes: 4},
	} {
		if _, err := lease.Open(t.Context(), st, "default", s, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q in it", o, err, want)
		}
	}
	for range 2 { // 30 and 31 are what is in both
		l := must(lease.Open(t.Context(), st, "default", s, &lease.Options{Within: snowfence.NodeRange{
			From: 0, Until: 32,
		}}))
		defer l.Orphan()
		if n := l.Status().Grant.Node; n != 30 && n != 31 {
			t.Errorf("leased node %d", n)
		}
	}
}
