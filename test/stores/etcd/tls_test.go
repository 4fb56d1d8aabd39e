//go:build unix

package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestTLS talks to a member that wants TLS, with its authority and without.
func TestTLS(t *testing.T) {
	t.Parallel()
	certs := servers.NewCerts(t)
	url := servers.StartEtcdTLS(t, certs)
	cfg := servers.EtcdConfig(url)
	cfg.TLS = certs.Client()
	st := openStore(t, servers.EtcdClientOf(t, cfg), "tls")
	swap(t, st, records(0, 3))
	if rs, err := st.Get(t.Context(), []store.Key{key(2)}); err != nil || rs[0].Nonce != "nonce2" {
		t.Errorf("read over TLS: %+v, %v", rs, err)
	}
	cfg = servers.EtcdConfig(url)
	cfg.TLS = certs.Client()
	cfg.TLS.RootCAs = nil // those of the system
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := openStore(t, servers.EtcdClientOf(t, cfg), "tls").Get(ctx, []store.Key{key(2)})
	if err == nil || !strings.Contains(err.Error(), "etcdstore") {
		t.Errorf("read over TLS from a member that nobody vouches for: %v", err)
	}
}
