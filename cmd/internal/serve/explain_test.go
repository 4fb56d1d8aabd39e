package serve

import (
	"net"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
)

// An address that cannot be listened on is said with what to do, and
// nothing that was started before it is left.
func TestAddressThatIsTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct {
		conf Config
		want string
	}{
		{Config{HTTP: ln.Addr().String()}, "http: another program listens on " + ln.Addr().String() + ": stop it (ss -ltnp names it), or give --http another port"},
		{Config{HTTP: "127.0.0.1:0", RESP: ln.Addr().String()}, "resp: another program listens on " + ln.Addr().String()},
		{Config{HTTP: "203.0.113.1:1", OpenToNetwork: []string{"http"}}, "203.0.113.1:1 is no address of this machine"},
		{Config{HTTP: "a..b:0", OpenToNetwork: []string{"http"}}, "a..b:0: this machine does not know that name: give --http an address"},
		{Config{HTTP: "127.0.0.1:x"}, `"x" is no port`},
	} {
		_, err := Start(t.Context(), c.conf, store.NewMemory())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.want, err)
		}
	}
}
