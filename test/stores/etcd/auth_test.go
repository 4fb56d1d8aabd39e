//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

const password = "correct-horse-battery"

// guarded starts a member with authentication on, and the users writer and
// reader with roles for the keys of one prefix.
func guarded(t *testing.T, prefix string) *servers.Etcd {
	t.Helper()
	m := servers.StartEtcd(t, "--bcrypt-cost=4") // the default takes long on a busy machine
	c := servers.EtcdClient(t, m)
	// The server of a busy machine gives up requests that it carries out a
	// moment later.
	eventually := func(what string, done error, do func(ctx context.Context) error) {
		t.Helper()
		shared.Eventually(t, what, func() error {
			if err := do(t.Context()); !errors.Is(err, done) {
				return err
			}
			return nil
		})
	}
	role := func(name string, may clientv3.PermissionType) {
		t.Helper()
		eventually("the role", rpctypes.ErrRoleAlreadyExist, func(ctx context.Context) error {
			_, err := c.RoleAdd(ctx, name)
			return err
		})
		eventually("its right", nil, func(ctx context.Context) error {
			_, err := c.RoleGrantPermission(ctx, name, prefix, clientv3.GetPrefixRangeEnd(prefix), may)
			return err
		})
		eventually("the user", rpctypes.ErrUserAlreadyExist, func(ctx context.Context) error {
			_, err := c.UserAdd(ctx, name, password)
			return err
		})
		eventually("the user's role", nil, func(ctx context.Context) error {
			_, err := c.UserGrantRole(ctx, name, name)
			return err
		})
	}
	role("root", clientv3.PermissionType(clientv3.PermReadWrite))
	role("writer", clientv3.PermissionType(clientv3.PermReadWrite))
	role("reader", clientv3.PermissionType(clientv3.PermRead))
	eventually("users", rpctypes.ErrUserEmpty, func(ctx context.Context) error {
		_, err := c.AuthEnable(ctx)
		return err
	})
	return m
}

// logged returns a client of a user whose password is right.
func logged(t *testing.T, m *servers.Etcd, user string) (c *clientv3.Client) {
	t.Helper()
	shared.Eventually(t, "the login", func() (err error) {
		c, err = login(t, m, user, password)
		return err
	})
	return c
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

// TestPermissions runs the whole suite as a user who may do what the
// documentation says, and nothing else. The short form makes each kind of
// request once.
func TestPermissions(t *testing.T) {
	m := guarded(t, "snowfence/")
	c := logged(t, m, "writer")
	if _, err := c.Put(t.Context(), "other", "x"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Fatalf("the user may write other keys: %v", err)
	}
	var n atomic.Int64 // the suite opens stores at the same time
	open := func(t *testing.T) store.Store { return openStore(t, c, fmt.Sprint("snowfence/", n.Add(1))) }
	storetest.RunCounts(t, open)
	if !testing.Short() {
		storetest.Run(t, open)
	}
	shared.OneLine(t, openStore(t, c, ""), func(o *lease.Options) (*snowfence.Generator, error) {
		return etcdstore.Open(t.Context(), c, o)
	})
}

// TestDenied asks as users who may not.
func TestDenied(t *testing.T) {
	t.Parallel()
	m := guarded(t, "snowfence/")
	writer := logged(t, m, "writer")
	st, err := etcdstore.New(writer, nil)
	must(t, err)
	swap(t, st, records(0, 3))

	elsewhere := openStore(t, writer, "elsewhere")
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "grant-permission") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err = elsewhere.Get(t.Context(), []store.Key{key(0)})
	refused("reading another prefix", err)
	_, err = store.Put(t.Context(), elsewhere, records(0, 1)[0])
	refused("writing below another prefix", err)

	reader := logged(t, m, "reader")
	looking, err := etcdstore.New(reader, nil)
	must(t, err)
	rs, _, err := looking.List(t.Context(), "default", snowfence.NodeRange{Until: 11}, 1<<20)
	if err != nil || len(rs) != 3 {
		t.Errorf("a user who may read sees %d records: %v", len(rs), err)
	}
	_, err = store.Put(t.Context(), looking, records(10, 1)[0])
	refused("writing as a user who may read", err)
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
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, _, err = st.Get(ctx, []store.Key{key(0)})
		_, swapped := store.Put(ctx, st, records(0, 1)[0])
		errs = append(errs, err, swapped)
		cancel()
	}
	for _, err := range errs {
		if err == nil || errors.Is(err, store.ErrLost) || strings.Contains(err.Error(), password) {
			t.Errorf("with a wrong password: %v", err)
		}
	}
}

// TestGrantPermission runs the command that the error of a user without
// rights says.
func TestGrantPermission(t *testing.T) {
	t.Parallel()
	m := guarded(t, "other/")
	root := logged(t, m, "root")
	writer := logged(t, m, "writer")
	st := openStore(t, writer, "")
	_, err := store.Put(t.Context(), st, records(0, 1)[0])
	tests.Says(t, err, "etcdctl role grant-permission ROLE readwrite --prefix=true snowfence/",
		"a swap without a right")
	const prefix = "snowfence/"
	shared.Eventually(t, "the right", func() error {
		_, err := root.RoleGrantPermission(t.Context(), "writer", prefix, clientv3.GetPrefixRangeEnd(prefix),
			clientv3.PermissionType(clientv3.PermReadWrite))
		return err
	})
	swap(t, st, records(0, 1))
}
