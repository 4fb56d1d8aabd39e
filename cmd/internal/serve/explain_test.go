package serve

import (
	"net"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

// An address that cannot be listened on is said with what to do, and
// nothing that was started before it is left.
func TestAddressThatIsTaken(t *testing.T) {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	taken := "another program listens on " + ln.Addr().String()
	for l, want := range map[Listeners]string{
		{HTTP: ln.Addr().String()}:                      "http: " + taken + ": stop it (ss -ltnp names it), or give --http another port",
		{HTTP: "127.0.0.1:0", RESP: ln.Addr().String()}: "resp: " + taken,
		{HTTP: "203.0.113.1:1"}:                         "203.0.113.1:1 is no address of this machine",
		{HTTP: "a..b:0"}:                                "a..b:0: this machine does not know that name: give --http an address",
		{HTTP: "127.0.0.1:x"}:                           `"x" is no port`,
	} {
		c := Config{Listeners: l, Access: Access{OpenToNetwork: []string{"http"}}}
		says(t, errOf(Start(t.Context(), c, store.NewMemory())), want, "")
	}
}
