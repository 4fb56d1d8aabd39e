//go:build unix

package etcd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/etcdstore"
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
		if err != nil {
			t.Fatal(err)
		}
		return st
	}), m}
	f.Namespace("")
	return f
}

// snapshot saves a member's data, as an operator would.
func snapshot(t *testing.T, m *servers.Etcd) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snapshot.db")
	ask(t, m, "snapshot", "save", file)
	return file
}

// etcdctl runs the command, with time enough on a busy machine, and returns
// what it printed.
func etcdctl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(servers.Need(t, "etcd", "etcdctl")[0], args...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3", "ETCDCTL_DIAL_TIMEOUT=1m", "ETCDCTL_COMMAND_TIMEOUT=1m")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("etcdctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// defaultToken is etcd's own --initial-cluster-token: a snapshot restored with
// it, and with the same addresses, has the old cluster ID.
const defaultToken = "etcd-cluster"

// TestSetBackWhileHeld restores old data under living holders, in all ways:
// they are sealed and go on above all that was granted.
func TestSetBackWhileHeld(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, m *servers.Etcd) (finish func()){
		"snapshot of another token": func(t *testing.T, m *servers.Etcd) func() {
			file := snapshot(t, m)
			return func() { m.Kill(); m.Restore(t, file, "another"); m.Restart(t) }
		},
		"snapshot of the same token": func(t *testing.T, m *servers.Etcd) func() {
			file := snapshot(t, m)
			return func() { m.Kill(); m.Restore(t, file, defaultToken); m.Restart(t) }
		},
		"copied folder": func(t *testing.T, m *servers.Etcd) func() {
			m.Kill()
			backup := t.TempDir()
			if err := os.CopyFS(backup, os.DirFS(m.Dir)); err != nil {
				t.Fatal(err)
			}
			m.Restart(t)
			m.AwaitHealthy(t)
			return func() {
				m.Kill()
				if err := os.RemoveAll(m.Dir); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(m.Dir, os.DirFS(backup)); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(m.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				m.Restart(t)
			}
		},
		"all keys deleted": func(t *testing.T, m *servers.Etcd) func() {
			return func() { remove(t, m, "fleet/", clientv3.WithPrefix()) }
		},
		"keys put back": putBack,
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

// TestSetBackBetween restores old data while no process runs.
func TestSetBackBetween(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	for name, c := range map[string]struct {
		token string
		after func(t *testing.T, m *servers.Etcd)
	}{
		"another token":                {"another", func(*testing.T, *servers.Etcd) {}},
		"same token, and id put again": {defaultToken, func(t *testing.T, m *servers.Etcd) { putAgain(t, m, "fleet/id") }},
		"same token, and id deleted":   {defaultToken, func(t *testing.T, m *servers.Etcd) { remove(t, m, "fleet/id") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Grow(8, "")
			file := snapshot(t, f.member)
			before := f.Show("").Identity
			f.Renewed()
			f.Crash()
			f.member.Kill()
			f.member.Restore(t, file, c.token)
			f.member.Restart(t)
			f.member.AwaitHealthy(t)
			c.after(t, f.member)
			f.Grow(8, "")
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
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		for _, kv := range old.Kvs {
			if _, err := c.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// putAgain writes one key as it is.
func putAgain(t *testing.T, m *servers.Etcd, key string) {
	t.Helper()
	c := servers.EtcdClient(t, m)
	old, err := c.Get(t.Context(), key)
	if err == nil {
		_, err = c.Put(t.Context(), key, string(old.Kvs[0].Value))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPutBackBetween puts copies of all keys back while no process runs, after
// the last renewals.
func TestPutBackBetween(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	f := newFleet(t)
	f.Grow(4, "")
	finish := putBack(t, f.member)
	before := f.Show("").Identity
	f.Renewed()
	f.Crash()
	finish()
	f.Grow(4, "")
	f.Renewed()
	after := f.Show("").Identity
	if after == before {
		t.Errorf("it is still the store %q", before)
	}
	f.Crash()
	f.Grow(4, "")
	f.Renewed()
	if again := f.Show("").Identity; again != after {
		t.Errorf("it is %q, after %q", again, after)
	}
}

func remove(t *testing.T, m *servers.Etcd, key string, opts ...clientv3.OpOption) {
	t.Helper()
	resp, err := servers.EtcdClient(t, m).Delete(t.Context(), key, opts...)
	if err != nil || resp.Deleted == 0 {
		t.Fatalf("deleting %q: %d keys, %v", key, resp.Deleted, err)
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
