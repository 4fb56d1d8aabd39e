package server

import "testing"

// Each user of a host is a caller with a limit of its own, and manages
// nothing.
func TestHostAuth(t *testing.T) {
	a := NewHostAuth(4, "x")
	one, two := a.User(1000), a.User(1001)
	if one != a.User(1000) || one == two || one.Name != "user-1000" || two.Name != "user-1001" {
		t.Errorf("%q and %q", one.Name, two.Name)
	}
	for _, id := range []*Identity{one, a.Anyone()} {
		if id.May(VerbLease, "x") != nil || id.May(VerbIDs, "x") != nil || id.May(VerbManage, "x") == nil ||
			id.May(VerbIDs, "y") == nil {
			t.Errorf("%s has other rights", id.Name)
		}
	}
	if n, err := one.nodeLimit(); n != 4 || err != nil {
		t.Errorf("the limit is %d, %v", n, err)
	}
	if Open().User(1000) != nil {
		t.Error("a server tells users apart")
	}
}
