package program

import (
	"fmt"
	"os"
	"testing"
)

var binDir string // of the program

func TestMain(m *testing.M) {
	var err error
	if binDir, err = os.MkdirTemp("", "snowfence-program"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(binDir)
	os.Exit(code)
}
