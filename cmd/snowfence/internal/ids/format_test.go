package ids

import (
	"testing"

	"github.com/snowfence/snowfence"
)

func TestFormats(t *testing.T) {
	ids := []snowfence.ID{5, 255}
	for _, c := range []struct {
		list string
		json bool
		want string
	}{
		{"dec", false, "5\n255\n"},
		{"hex", false, "5\nff\n"},
		{"dec,hex", false, "5\t5\n255\tff\n"},
		{"dec", true, "{\"id\":\"5\"}\n{\"id\":\"255\"}\n"},
		{"hex,base36", true, "{\"id\":\"5\",\"hex\":\"5\",\"base36\":\"5\"}\n{\"id\":\"255\",\"hex\":\"ff\",\"base36\":\"73\"}\n"},
	} {
		f := must(newFormatter(c.list, c.json))
		if got := string(f.append(nil, ids)); got != c.want {
			t.Errorf("%s, JSON %v: got %q, want %q", c.list, c.json, got, c.want)
		}
	}
	for _, list := range []string{"", "octal", "dec,dec"} {
		fails(t, errOf(newFormatter(list, false)), "the list %q was accepted", list)
	}
}
