package serve

import "testing"

// A user with subordinate user IDs would be thousands of users.
func TestOwnerOfASubordinateUser(t *testing.T) {
	const subordinate = "# comment\nroot:100000:65536\n4242:165536:10\nbad:x:1\nroot:1:2:3\n  1001:200000:1  "
	for id, want := range map[uint32]uint32{
		0: 0, 1: 1, 99999: 99999, 100000: 0, 165535: 0, 165536: 4242, 165545: 4242, 165546: 165546, 200000: 1001,
		1 << 31: 1 << 31,
	} {
		if got := ownerOf(id, subordinate); got != want {
			t.Errorf("%d belongs to %d, not to %d", id, got, want)
		}
	}
}
