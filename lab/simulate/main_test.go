package simulate

import (
	"os"
	"runtime/debug"
	"testing"
)

// Runs make much garbage and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
