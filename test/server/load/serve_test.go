package load

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

const namespace = "load"

// pair is two servers over one store, and a client that knows both.
type pair struct {
	servers [2]*servers.Process
	http    [2]string
	client  *remote.Client
	scheme  *snowfence.Scheme
}

// start starts both, and makes the namespace.
func start(t testing.TB, store string, l snowfence.Layout) *pair {
	t.Helper()
	p := &pair{}
	var err error
	p.scheme, err = snowfence.NewScheme(l)
	must(t, err)
	var addresses []string
	for i := range p.servers {
		p.servers[i], p.http[i] = servers.Serve(t, store)
		addresses = append(addresses, "http://"+p.http[i])
	}
	body := fmt.Sprintf(`{"layout":%q,"max_ttl":"60s"}`, p.scheme.Layout().String())
	_, _, err = servers.Ask(t.Context(), http.DefaultClient, http.MethodPut, addresses[0]+"/v1/"+namespace, body)
	must(t, err)
	c, err := remote.Dial(addresses, &remote.Options{Timeout: 30 * time.Second}) // a busy machine is no trouble
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	p.client = c
	return p
}
