//go:build unix

package redis

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/servers"

	"github.com/redis/rueidis"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/relay"
)

var must = tests.NoError

// TestIdentity changes what may have rolled the data back, and what has
// not.
func TestIdentity(t *testing.T) {
	a, b := servers.StartRedis(t), servers.StartRedis(t)
	st := newStore(t, single(t, a), nil)
	kinds.Put(t, st, store.Write{New: record(1, 1)})
	var last string
	seen := map[string]bool{}
	look := func(what string, changed bool) {
		t.Helper()
		if _, _, err := st.Get(short(t), []store.Key{{Namespace: namespace, Node: 1}}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		id, err := store.Identity(t.Context(), st, namespace)
		must(t, err)
		if (id != last) != changed || changed && seen[id] {
			t.Errorf("%s: the identity was %s and is %s", what, last, id)
		}
		last, seen[id] = id, true
	}
	look("first use", true)
	look("second use", false)
	replID := a.Field("master_replid")
	b.Follow(t, a)
	if a.Field("master_replid") == replID {
		t.Error("the first replica did not change the replid, as Redis does")
	}
	look("first replica", false)
	a.Do(t, "FLUSHALL")
	look("flush", true)
	a.End(t)
	a.Again(t)
	look("restart", true)
	b.Follow(t, a)
	shared.Eventually(t, "the replica has all", func() error {
		if a.Field("master_repl_offset") != b.Field("slave_repl_offset") {
			return errors.New("it lags")
		}
		return nil
	})
	b.Do(t, "REPLICAOF", "NO", "ONE")
	a.Do(t, "SET", "other", "1") // so that not even its last writes are kept
	a.Follow(t, b)
	if _, _, err := st.Get(short(t), []store.Key{{Namespace: namespace, Node: 1}}); err == nil ||
		!strings.Contains(err.Error(), "connect to the master") {
		t.Errorf("a replica: %v", err)
	}
	if _, err := store.Put(short(t), st, store.Write{New: record(2, 1)}); known(err) {
		t.Errorf("a swap on a replica: %v", err)
	}
	a.Do(t, "REPLICAOF", "NO", "ONE") // the same process as before, with data that came from elsewhere
	look("promotion of the server that was the master before", true)
	a.Do(t, "CONFIG", "SET", "repl-backlog-ttl", "1")
	shared.Eventually(t, "the backlog is freed", func() error {
		if a.Field("master_replid2") != strings.Repeat("0", 40) {
			return errors.New("it is there")
		}
		return nil
	})
	look("end of the backlog", false)
}

func TestEviction(t *testing.T) {
	r := servers.StartRedis(t, "--maxmemory-policy", "allkeys-lru")
	refused := func(what string, err error) {
		t.Helper()
		if known(err) || !strings.Contains(err.Error(), "noeviction") {
			t.Errorf("%s on a server that evicts: %v", what, err)
		}
	}
	st := newStore(t, single(t, r), nil)
	_, _, err := st.Get(t.Context(), []store.Key{{Namespace: namespace, Node: 1}})
	refused("Get", err)
	_, err = store.Put(t.Context(), st, store.Write{New: record(1, 1)})
	refused("Swap", err)
	r.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	v, err := newStore(t, single(t, r), nil).Server(t.Context(), namespace)
	if err != nil || v.Policy != "noeviction" || v.Loses() != "" || !v.AOF {
		t.Errorf("%+v, %v", v, err)
	}
	// A server that comes later is looked at too.
	way := relay.Start(t, r.Address(), nil, nil)
	st = newStore(t, client(t, rueidis.ClientOption{InitAddress: []string{way.Address}, ForceSingleClient: true}), nil)
	kinds.Put(t, st, store.Write{New: record(1, 1)})
	way.Turn(servers.StartRedis(t, "--maxmemory-policy", "volatile-ttl").Address())
	_, _, err = st.Get(short(t), []store.Key{{Namespace: namespace, Node: 1}})
	refused("Get", err)
}

// TestPersistenceHints sets what the errors and warnings about persistence
// say.
func TestPersistenceHints(t *testing.T) {
	r := servers.StartRedis(t, "--appendonly", "no", "--appendfsync", "everysec")
	st := newStore(t, single(t, r), nil)
	v, err := st.Server(t.Context(), namespace)
	if err != nil || !strings.Contains(v.Loses(), "appendonly is no") {
		t.Errorf("without a file: %+v loses %q, %v", v, v.Loses(), err)
	}
	strict := newStore(t, single(t, r), &redisstore.Options{AOF: true})
	swap := func() (err error) { _, err = store.Put(short(t), strict, store.Write{New: record(1, 1)}); return err }
	if err := swap(); known(err) || !strings.Contains(err.Error(),
		"appendonly is no, and Options.AOF asks for it: set appendonly yes") {
		t.Fatal("AOF without a file:", err)
	}
	r.Do(t, "CONFIG", "SET", "appendonly", "yes")
	v, err = st.Server(t.Context(), namespace)
	if err != nil || !strings.Contains(v.Loses(), "set appendfsync always") {
		t.Fatalf("with a file: %+v loses %q, %v", v, v.Loses(), err)
	}
	r.Do(t, "CONFIG", "SET", "appendfsync", "no")
	v, err = st.Server(t.Context(), namespace)
	if err != nil || !strings.Contains(v.Loses(),
		"appendfsync is no: a crash of the machine loses what its system had not written, often 30 s: set "+
			"appendfsync always") {
		t.Errorf("with appendfsync no: %+v loses %q, %v", v, v.Loses(), err)
	}
	r.Do(t, "CONFIG", "SET", "appendfsync", "everysec")
	v, err = st.Server(t.Context(), namespace)
	must(t, err)
	if knows := !strings.HasPrefix(v.Version, "7.0"); knows != strings.Contains(v.Loses(), "or use Options.AOF") {
		t.Errorf("Redis %s: %s", v.Version, v.Loses())
	} else if _, err := strict.Server(t.Context(), namespace); knows != (err == nil) {
		t.Errorf("Redis %s: %v", v.Version, err)
	} else if !knows && !strings.Contains(err.Error(),
		"Options.AOF needs WAITAOF, of Redis 7.2 or later, or appendfsync always") {
		t.Error(err)
	}
	r.Do(t, "CONFIG", "SET", "appendfsync", "always")
	r.Do(t, "CONFIG", "SET", "no-appendfsync-on-rewrite", "yes") // it syncs nothing while it rewrites its file
	v, err = st.Server(t.Context(), namespace)
	if err != nil || !strings.Contains(v.Loses(), "no-appendfsync-on-rewrite is yes") {
		t.Errorf("%+v loses %q, %v", v, v.Loses(), err)
	}
	_, err = strict.Server(t.Context(), namespace)
	if waits := !strings.HasPrefix(v.Version, "7.0"); waits != (err == nil) {
		t.Errorf("AOF with Redis %s: %v", v.Version, err)
	}
	r.Do(t, "CONFIG", "SET", "no-appendfsync-on-rewrite", "no")
	for _, st := range []*redisstore.Store{st, strict} {
		if v, err := st.Server(t.Context(), namespace); err != nil || v.Loses() != "" {
			t.Errorf("after all was set: %+v loses %q, %v", v, v.Loses(), err)
		}
	}
	tests.WantErr(t, swap(), nil, "after all was set")
}

// acl is the rule of the package comment.
const acl = "resetkeys ~snowfence:* nocommands +eval +evalsha +info +hset +hmget +zadd +zrangebylex " +
	"+expire +persist +sadd +smembers +time +wait +config|get +hello +auth +ping +client"

const password = "correct-horse-battery-staple"

func TestUser(t *testing.T) {
	r := servers.StartRedis(t)
	r.Do(t, append([]string{"ACL", "SETUSER", "ids", "on", ">" + password}, strings.Fields(acl)...)...)
	as := func(user, password string) (rueidis.Client, error) {
		return rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{r.Address()}, ForceSingleClient: true,
			DisableCache: true, Username: user, Password: password,
		})
	}
	silent := func(err error) {
		t.Helper()
		if strings.Contains(err.Error(), password) {
			t.Errorf("the password is in %v", err)
		}
	}
	c, err := as("ids", password)
	must(t, err)
	defer c.Close()
	st := newStore(t, c, nil)
	f := newFleet(t, st)
	f.Start("user", "", -1).More()
	f.Crash()
	must(t, tests.ErrOf(scope.Namespaces(st).List(t.Context())))
	if v, err := st.Server(t.Context(), namespace); err != nil || v.Fsync != "always" {
		t.Errorf("%+v, %v", v, err)
	}
	kinds.Put(t, newStore(t, c, &redisstore.Options{AOF: true}), store.Write{New: record(100_000, 1)})
	other := newStore(t, c, &redisstore.Options{Prefix: "other"})
	_, err = store.Put(t.Context(), other, store.Write{New: record(1, 1)})
	if known(err) {
		t.Fatalf("keys that the user may not touch: %v", err)
	}
	_, says, _ := strings.Cut(err.Error(), "ACL SETUSER name ")
	says, _, ok := strings.Cut(says, " (with your Options.Prefix)")
	if !ok {
		t.Fatalf("keys that the user may not touch: %v", err)
	}
	r.Do(t, append([]string{"ACL", "SETUSER", "ids"},
		strings.Fields(strings.Replace(says, "~snowfence:", "~other:", 1))...)...)
	if _, err := store.Put(t.Context(), other, store.Write{New: record(1, 1)}); err != nil {
		t.Errorf("after ACL SETUSER ids %s: %v", says, err)
	}
	looks := newStore(t, c, &redisstore.Options{ReadOnly: true})
	look := func() (err error) { _, _, err = looks.Get(t.Context(), []store.Key{record(1, 1).Key}); return err }
	tests.Says(t, look(), "a store that only reads also needs +eval_ro +evalsha_ro", "a look without rights")
	r.Do(t, "ACL", "SETUSER", "ids", "+eval_ro", "+evalsha_ro")
	must(t, look())
	// Without one of the rights the call fails before it writes anything,
	// and the indexes stay right.
	for _, right := range []string{"hset", "zadd", "hmget", "info", "evalsha"} {
		r.Do(t, "ACL", "SETUSER", "ids", "-"+right)
		_, err := store.Put(t.Context(), st, store.Write{New: record(61, 1)})
		if known(err) || !strings.Contains(err.Error(), "+"+right) {
			t.Errorf("without %s: %v", right, err)
		} else {
			silent(err)
		}
		r.Do(t, "ACL", "SETUSER", "ids", "+"+right)
	}
	sameIndexes(t, single(t, r), "snowfence")
	if rs, _, err := st.Get(t.Context(), []store.Key{record(61, 1).Key}); err != nil || rs[0].Nonce != "" {
		t.Errorf("without rights was written: %+v, %v", rs, err)
	}
	if _, err := as("ids", password+"!"); err == nil {
		t.Error("a wrong password")
	} else {
		silent(err)
	}
	r.Do(t, "CONFIG", "SET", "requirepass", password)
	if c, err := as("", ""); err == nil {
		defer c.Close()
		_, _, err = newStore(t, c, nil).Get(t.Context(), []store.Key{{Namespace: namespace, Node: 1}})
		tests.Says(t, err, "password", "without a password")
	}
}

// In TestRefusals the server refuses writes. None of them may be done in
// part.
func TestRefusals(t *testing.T) {
	r := servers.StartRedis(t)
	st := newStore(t, single(t, r), nil)
	old, next := record(1, 1), record(1, 2)
	kinds.Put(t, st, store.Write{New: old})
	for _, c := range []struct{ name, value, normal, want string }{
		{"maxmemory", "1", "0", "raise maxmemory"},
		{"min-replicas-to-write", "1", "0", "fewer replicas than"},
	} {
		r.Do(t, "CONFIG", "SET", c.name, c.value)
		_, err := store.Put(t.Context(), st, store.Write{Old: old.Nonce, New: next})
		if known(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.value, err)
		}
		r.Do(t, "CONFIG", "SET", c.name, c.normal)
		if rs, _, err := st.Get(t.Context(), []store.Key{old.Key}); err != nil || rs[0] != old {
			t.Errorf("%s %s: stored is %+v, %v", c.name, c.value, rs, err)
		}
	}
	sameIndexes(t, single(t, r), "snowfence")
	must(t, tests.ErrOf(store.Put(t.Context(), st, store.Write{Old: old.Nonce, New: next})))
	for _, bad := range []*redisstore.Options{{Prefix: "a{b}"}, {Replicas: -1}, {Timeout: 1}} {
		tests.Fails(t, tests.ErrOf(redisstore.New(single(t, r), bad)), "%+v was accepted", bad)
	}
	tests.Fails(t, tests.ErrOf(redisstore.New(nil, nil)), "no client was accepted")
	if _, err := store.Put(t.Context(), st, store.Write{New: store.Record{
		Key: store.Key{Namespace: "a}b"}, Nonce: "x",
	}}); err == nil {
		t.Error("a namespace with a brace was accepted")
	}
}
