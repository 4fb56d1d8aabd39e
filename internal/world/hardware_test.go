//go:build !purego && (amd64 || (linux && arm64))

package world

import "testing"

// A processor that has a generator draws other numbers each time.
func TestHardware(t *testing.T) {
	if !processorDraws() {
		if n := hardware(); n != 0 {
			t.Errorf("a processor without a generator drew %d", n)
		}
		t.Skip("this processor has no generator")
	}
	if a, b := hardware(), hardware(); a == b {
		t.Errorf("the processor drew %d twice", a)
	}
}
