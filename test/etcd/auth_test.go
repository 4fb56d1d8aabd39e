//go:build unix

package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/leasetest"
	"github.com/snowfence/snowfence/test/servers"
)

const password = "correct-horse-battery"

// guarded starts a member with authentication on, and the users writer and reader with
// roles for the keys of one prefix.
func guarded(t *testing.T, prefix string) *servers.Etcd {
	t.Helper()
	m := servers.StartEtcd(t)
	c := servers.EtcdClient(t, m)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	must(c.RoleAdd(ctx, "root"))
	must(c.UserAdd(ctx, "root", password))
	must(c.UserGrantRole(ctx, "root", "root"))
	for role, may := range map[string]clientv3.PermissionType{"writer": clientv3.PermissionType(
		clientv3.PermReadWrite), "reader": clientv3.PermissionType(clientv3.PermRead)} {
		must(c.RoleAdd(ctx, role))
		must(c.RoleGrantPermission(ctx, role, prefix, clientv3.GetPrefixRangeEnd(prefix), may))
		must(c.UserAdd(ctx, role, password))
		must(c.UserGrantRole(ctx, role, role))
	}
	must(c.AuthEnable(ctx))
	return m
}

func login(t *testing.T, m *servers.Etcd, user, word string) (*clientv3.Client, error) {
	cfg := servers.EtcdConfig(m.URL())
	cfg.Username, cfg.Password = user, word
	c, err := clientv3.New(cfg)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() }) // a user that is refused makes that an error
	}
	return c, err
}

// TestPermissions runs the whole suite as a user who may do what the documentation says,
// and nothing else.
func TestPermissions(t *testing.T) {
	m := guarded(t, "snowfence/")
	c, err := login(t, m, "writer", password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "other", "x"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Fatalf("the user may write other keys: %v", err)
	}
	n := 0
	leasetest.Run(t, func(t *testing.T) lease.Store {
		n++
		return openStore(t, c, "snowfence/"+string(rune('a'+n%26))+strings.Repeat("z", n/26))
	})
}

// TestDenied asks as users who may not.
func TestDenied(t *testing.T) {
	t.Parallel()
	m := guarded(t, "snowfence/")
	writer, err := login(t, m, "writer", password)
	if err != nil {
		t.Fatal(err)
	}
	st, err := etcdstore.New(writer, nil)
	if err != nil {
		t.Fatal(err)
	}
	swap(t, st, records(0, 3))

	elsewhere := openStore(t, writer, "elsewhere")
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "grant-permission") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = elsewhere.Get(t.Context(), []lease.Key{key(0)})
	refused("reading another prefix", err)
	refused("writing below another prefix", elsewhere.Swap(t.Context(), records(0, 1))[0])

	reader, err := login(t, m, "reader", password)
	if err != nil {
		t.Fatal(err)
	}
	looking, err := etcdstore.New(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := looking.List(t.Context(), lease.Query{Namespace: "default", Last: 10})
	if err != nil || len(rs) != 3 {
		t.Errorf("a user who may read sees %d records: %v", len(rs), err)
	}
	refused("writing as a user who may read", looking.Swap(t.Context(), records(10, 1))[0])
}

// TestPassword gives a wrong one, and looks for it in the errors.
func TestPassword(t *testing.T) {
	t.Parallel()
	m := guarded(t, "snowfence/")
	var errs []error
	for _, word := range []string{"wrong-" + password, ""} {
		c, err := login(t, m, "writer", word)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		st, err := etcdstore.New(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err = st.Get(ctx, []lease.Key{key(0)})
		errs = append(errs, err, st.Swap(ctx, records(0, 1))[0])
		cancel()
	}
	for _, err := range errs {
		if err == nil || errors.Is(err, lease.ErrLost) || strings.Contains(err.Error(), password) {
			t.Errorf("with a wrong password: %v", err)
		}
	}
}

// TestGrantPermission runs the command that the error of a user without rights says.
func TestGrantPermission(t *testing.T) {
	t.Parallel()
	m := guarded(t, "other/")
	root, err := login(t, m, "root", password)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := login(t, m, "writer", password)
	if err != nil {
		t.Fatal(err)
	}
	st := openStore(t, writer, "")
	err = st.Swap(t.Context(), records(0, 1))[0]
	if err == nil || !strings.Contains(err.Error(),
		"etcdctl role grant-permission ROLE readwrite --prefix=true snowfence/") {
		t.Fatal(err)
	}
	const prefix = "snowfence/"
	if _, err := root.RoleGrantPermission(t.Context(), "writer", prefix, clientv3.GetPrefixRangeEnd(prefix),
		clientv3.PermissionType(clientv3.PermReadWrite)); err != nil {
		t.Fatal(err)
	}
	swap(t, st, records(0, 1))
}
