package load

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// watch looks at many leases.
type watch struct {
	testing.TB
	leases []*lease.Lease
	last   []lease.Status

	duplicates int // nodes with two holders at a time
	lost       int // holders that had to take another grant
}

func look(leases []*lease.Lease) []lease.Status {
	out := make([]lease.Status, len(leases))
	for i, l := range leases {
		out[i] = l.Status()
	}
	return out
}

// wait looks every second for a while, and returns the renewals: how long
// each took, sorted, and when they were.
func (w *watch) wait(d time.Duration) (took []time.Duration, waited time.Duration) {
	w.Helper()
	start := time.Now()
	for time.Since(start) < d {
		time.Sleep(min(d-time.Since(start), time.Second))
		now := look(w.leases)
		holders := make(map[int64]bool, len(now))
		for i, s := range now {
			if s.Held {
				if holders[s.Grant.Node] {
					w.duplicates++
				}
				holders[s.Grant.Node] = true
			}
			if s.Renewed.After(w.last[i].Renewed) {
				took = append(took, s.Took)
			}
			if before := w.last[i].Grant; s.Grant.Node != before.Node || s.Grant.From != before.From {
				w.lost++
			}
		}
		w.last = now
	}
	waited = time.Since(start)
	if len(took) == 0 && d > ttl/3 {
		w.Fatal("nothing was renewed")
	}
	slices.Sort(took)
	return took, waited
}

// behind returns how many holders were not renewed since a moment.
func (w *watch) behind(since time.Time) (n int) {
	for _, s := range w.last {
		if !s.Renewed.After(since) {
			n++
		}
	}
	return n
}

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
