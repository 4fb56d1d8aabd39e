package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate fails when the vector code is not what this program writes:
// when one of the two was changed alone.
func TestUpToDate(t *testing.T) {
	for name, fill := range files {
		want, err := generate(fill)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run make gen", name)
		}
	}
}

// TestWeave checks that every instruction comes once and in its order, and
// that streams of different lengths end together.
func TestWeave(t *testing.T) {
	var order []byte
	digits := func(s string) (out stream) {
		for i := range len(s) {
			out = append(out, func() { order = append(order, s[i]) })
		}
		return out
	}
	weave([]stream{digits("012345"), digits("abc"), digits(""), digits("XY")})
	if got, want := string(order), "01a2X3b45cY"; got != want {
		t.Errorf("woven to %s, want %s", got, want)
	}
}
