package resp

import (
	"os"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// TestPage compares docs/reference/errors.md with what each kind of error becomes on this wire.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		for k := server.Internal; k <= server.NoPeriod; k++ {
			if cells[0] != "| `"+k.Name()+"`" {
				continue
			}
			n++
			if got := strings.Trim(cells[4], " |\n"); got != "`"+code(k)+"`" {
				t.Errorf("the page says that %s is %s", k.Name(), got)
			}
		}
	}
	if n != int(server.NoPeriod)+1 {
		t.Errorf("%d kinds", n)
	}
}
