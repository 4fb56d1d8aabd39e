package etcdstore

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease/store"
)

func TestKeys(t *testing.T) {
	ks := keyspace("p/")
	k := store.Key{Namespace: "a/b ü", Node: 7}
	if name, err := ks.namespaceOf(ks.recordKey(k)); err != nil || name != k.Namespace {
		t.Errorf("namespace of %q: %q, %v", ks.recordKey(k), name, err)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("no client is no error")
	}
	if _, err := New(&clientv3.Client{}, &Options{Timeout: -time.Second}); err == nil {
		t.Error("a negative timeout is no error")
	}
	st, err := New(&clientv3.Client{}, &Options{Prefix: "team"})
	if err != nil || st.keys != "team/" {
		t.Errorf("prefix %q, %v", st.keys, err)
	}
}
