package store

import (
	"strings"
	"testing"
)

// A name has 1 to 64 letters, digits, '-', '_' and '.'. "curl /v1/../next"
// and "snowfence … -" reached another namespace, or none.
func TestNames(t *testing.T) {
	const good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	for c := range 256 {
		name := string([]byte{byte(c)})
		if err := CheckName("a" + name); (err == nil) != strings.Contains(good, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, 64: true, 65: false} {
		if err := CheckName(strings.Repeat("a", n)); (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
	for name, ok := range map[string]bool{
		".": false, "..": false, "-": false, "...": true, "a.": true, "-a": true, "--": true, "_": true,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
