//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// ask runs etcdctl on a member.
func ask(t *testing.T, m *servers.Etcd, args ...string) string {
	t.Helper()
	return etcdctl(t, append([]string{"--endpoints=" + m.URL()}, args...)...)
}

// In TestCorruptMember a cluster finds one member damaged. The test
// replaces it as the error says.
func TestCorruptMember(t *testing.T) {
	t.Parallel()
	members := servers.StartEtcdCluster(t, 3, calm...)
	cl := servers.EtcdClient(t, members...)
	st := openStore(t, cl, "corrupt")
	writes := records(0, 1)
	swap(t, st, writes)
	list, err := cl.MemberList(t.Context())
	must(t, err)
	bad, healthy := members[2], members[0]
	id := uint64(0)
	for _, m := range list.Members {
		if m.Name == "m2" {
			id = m.ID
		}
	}
	alarm := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: etcdserverpb.AlarmType_CORRUPT,
	}
	must(t, tests.ErrOf(etcdserverpb.NewMaintenanceClient(cl.ActiveConnection()).Alarm(t.Context(), alarm)))
	renew(writes, 1)
	_, err = store.Put(t.Context(), st, writes[0])
	if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(),
		"replace the one that is wrong (etcdctl alarm list names it), then etcdctl alarm disarm") {
		t.Fatalf("a swap in a cluster whose members differ: %v", err)
	}
	if text := ask(t, healthy, "alarm", "list"); !strings.Contains(text, fmt.Sprint("memberID:", id)) {
		t.Fatalf("member %d is wrong, and etcdctl says %s", id, text)
	}
	bad.Kill()
	// A proposal that was under way to the killed leader gets no answer,
	// hence tries with a limit each.
	try := func(done error, change func(context.Context) error) {
		t.Helper()
		healthy.Ready(t, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := change(ctx); err != nil && !errors.Is(err, done) {
				return err
			}
			return nil
		})
	}
	try(rpctypes.ErrMemberNotFound, func(ctx context.Context) error {
		_, err := cl.MemberRemove(ctx, id)
		return err
	})
	ports := servers.Ports(t, 2)
	peer := "http://" + servers.Address(ports[1])
	try(rpctypes.ErrPeerURLExist, func(ctx context.Context) error { // etcd refuses for some seconds after a start
		_, err := cl.MemberAdd(ctx, []string{peer})
		return err
	})
	fresh := &servers.Etcd{Port: ports[0], PeerPort: ports[1], Dir: t.TempDir() + "/etcd3"}
	fresh.Process = servers.Start(t, "etcd3", servers.Need(t, "etcd", "etcd")[0], []string{
		"--name=m3", "--data-dir=" + fresh.Dir, "--listen-client-urls=" + fresh.URL(), "--advertise-client-urls=" + fresh.URL(),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster-state=existing",
		fmt.Sprintf("--initial-cluster=m0=http://%s,m1=http://%s,m3=%s",
			servers.Address(members[0].PeerPort), servers.Address(members[1].PeerPort), peer),
	}, nil)
	ask(t, healthy, "alarm", "disarm")
	fresh.AwaitHealthy(t)
	swap(t, openStore(t, servers.EtcdClient(t, members[0], members[1], fresh), "corrupt"), writes)
}

// TestNoAnswer stops the only member: the error says how long the store
// waited. When the member is back, everything works again.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	m := servers.StartEtcd(t)
	cl := servers.EtcdClient(t, m)
	swap(t, openStore(t, cl, "silent"), records(0, 1))
	hasty, err := etcdstore.New(cl, &etcdstore.Options{Prefix: "silent", Timeout: 100 * time.Millisecond})
	must(t, err)
	m.Signal(t, syscall.SIGSTOP)
	_, _, err = hasty.Get(t.Context(), []store.Key{key(0)})
	tests.Says(t, err,
		"no answer within 100ms (Options.Timeout) or the time the caller gave: the members are not reached", "a read")
	m.Signal(t, syscall.SIGCONT)
	m.AwaitHealthy(t)
	_, _, err = openStore(t, cl, "silent").Get(t.Context(), []store.Key{key(0)})
	must(t, err)
}
