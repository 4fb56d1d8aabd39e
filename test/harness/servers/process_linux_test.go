package servers_test

import (
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestPortsAreReserved asks for so many ports that some came twice if any were free.
func TestPortsAreReserved(t *testing.T) {
	seen := map[int]bool{}
	for range 60 {
		for _, port := range servers.Ports(t, 10) {
			if seen[port] {
				t.Errorf("port %d came twice", port)
			}
			seen[port] = true
		}
	}
}
