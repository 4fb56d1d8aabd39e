package store

import "testing"

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		now, before string
		same, less  bool
	}{
		{"", "", true, false},
		{"a:1:2", "a:1:2", true, false},
		{"a:1:-", "a:1:-", true, false},
		{"a:1:3", "a:1:2", false, false},
		{"a:1", "a:1:2", false, false},
		{"a:-:2", "a:1:2", true, true},
		{"a:1:2", "a:-:2", true, false},
		{"a:-:2", "a:1:-", true, true},
		{"a:-:3", "a:1:2", false, false},
		{"a:1:3", "a:-:2", false, false},
	} {
		if same, less := Compare(c.now, c.before); same != c.same || less != c.less {
			t.Errorf("%q after %q: same %t, less %t", c.now, c.before, same, less)
		}
	}
}
