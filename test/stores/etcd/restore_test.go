//go:build unix

package etcd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// fleet is some holders of leases in one member.
type fleet struct {
	*shared.Fleet
	member *servers.Etcd
}

func newFleet(t *testing.T) fleet {
	t.Helper()
	m := servers.StartEtcd(t)
	f := fleet{shared.New(t, func(string) store.Store {
		t.Helper()
		o := &etcdstore.Options{Prefix: "fleet", Timeout: shared.TTL / 2}
		st, err := etcdstore.New(servers.EtcdClient(t, m), o)
		must(t, err)
		return st
	}), m}
	f.Namespace("")
	return f
}

// etcdctl runs the command, with time enough on a busy machine, and returns
// what it printed.
func etcdctl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(servers.Need(t, "etcd", "etcdctl")[0], args...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3", "ETCDCTL_DIAL_TIMEOUT=1m", "ETCDCTL_COMMAND_TIMEOUT=1m")
	return tests.Run(t, cmd)
}

// TestSetBackWhileHeld deletes keys under living holders: they are sealed
// and go on above all that was granted. test/stores/faults puts old data
// back in all other ways.
func TestSetBackWhileHeld(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, m *servers.Etcd) (finish func()){
		"all keys deleted": func(t *testing.T, m *servers.Etcd) func() {
			return func() { remove(t, m, "fleet/", clientv3.WithPrefix()) }
		},
		"keys deleted and put back": func(t *testing.T, m *servers.Etcd) func() {
			finish := putBack(t, m)
			return func() { remove(t, m, "fleet/", clientv3.WithPrefix()); finish() }
		},
		"id deleted": func(t *testing.T, m *servers.Etcd) func() {
			return func() { remove(t, m, "fleet/id") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Grow(4, "")
			f.Renewed()
			before := f.Show("").Identity
			finish := back(t, f.member)
			f.Renewed()
			f.Grow(1, "") // not in the backup
			f.Renewed()
			finish()
			f.Namespace("") // where it is gone
			f.Renewed()
			f.Grow(2, "")
			f.Renewed()
			if after := f.Show("").Identity; after == before {
				t.Errorf("it is still the store %q", before)
			}
		})
	}
}

// putBack reads all keys, and returns what writes them again as they were.
func putBack(t *testing.T, m *servers.Etcd) (finish func()) {
	c := servers.EtcdClient(t, m)
	old, err := c.Get(t.Context(), "fleet/", clientv3.WithPrefix())
	must(t, err)
	return func() {
		for _, kv := range old.Kvs {
			must(t, tests.ErrOf(c.Put(t.Context(), string(kv.Key), string(kv.Value))))
		}
	}
}

func remove(t *testing.T, m *servers.Etcd, key string, opts ...clientv3.OpOption) {
	t.Helper()
	resp, err := servers.EtcdClient(t, m).Delete(t.Context(), key, opts...)
	if err != nil || resp.Deleted == 0 {
		t.Fatalf("deleting %q: %d keys, %v", key, resp.Deleted, err)
	}
}

// TestRestoredTwice restores a snapshot twice. The identity is another one
// each time, and a program that only looks waits for it.
func TestRestoredTwice(t *testing.T) {
	t.Parallel()
	m, kept, known := servers.StartEtcd(t), filepath.Join(t.TempDir(), "kept"), map[string]bool{}
	open := func(readOnly bool) store.Store {
		st, err := etcdstore.New(servers.EtcdClient(t, m), &etcdstore.Options{ReadOnly: readOnly})
		must(t, err)
		return st
	}
	ask := func(st store.Store) (id string, err error) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if id, err = store.Identity(t.Context(), st, ""); err == nil || errors.Is(err, store.ErrReadOnly) {
				break
			}
		}
		return id, err
	}
	st, looks := open(false), open(true)
	for round := range 3 {
		if round > 0 {
			m.Kill()
			m.Restore(t, kept, "etcd-cluster")
			m.Restart(t)
			m.AwaitHealthy(t)
			tests.WantErr(t, tests.ErrOf(ask(looks)), store.ErrReadOnly, "round %d", round)
		}
		id, err := ask(st)
		if err != nil || known[id] {
			t.Errorf("round %d: %q came again, or %v", round, id, err)
		}
		known[id] = true
		if round == 0 {
			m.Save(t, kept)
			must(t, tests.ErrOf(servers.EtcdClient(t, m).Put(t.Context(), "other", "x"))) // a later revision
			must(t, tests.ErrOf(ask(st)))
		}
		if same, err := ask(looks); err != nil || same != id {
			t.Errorf("round %d: who looks sees %q, not %q: %v", round, same, id, err)
		}
	}
}

// TestSingleRestarted kills a cluster of one member and starts it again:
// nothing acknowledged is gone, and it is the same store.
func TestSingleRestarted(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.Grow(4, "")
	before := f.Show("").Identity
	for range 3 {
		f.member.Kill()
		f.member.Restart(t)
		f.Renewed()
	}
	if after := f.Show("").Identity; after != before {
		t.Errorf("a restart made another store of it: %q, then %q", before, after)
	}
}
