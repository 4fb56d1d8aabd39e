package etcdstore

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowfence/snowfence/lease/store"
)

// cluster is an etcd with the id key alone. All conditions hold.
type cluster struct {
	clientv3.KV
	revision int64
	id       []*mvccpb.KeyValue
	ops      []clientv3.Op
}

func (c *cluster) Txn(context.Context) clientv3.Txn     { return c }
func (c *cluster) If(...clientv3.Cmp) clientv3.Txn      { return c }
func (c *cluster) Then(ops ...clientv3.Op) clientv3.Txn { c.ops = ops; return c }
func (c *cluster) Else(...clientv3.Op) clientv3.Txn     { return c }

func (c *cluster) Commit() (*clientv3.TxnResponse, error) {
	resp := &clientv3.TxnResponse{Succeeded: true}
	for _, op := range c.ops {
		r := &pb.RangeResponse{}
		if op.IsPut() {
			c.revision++
			c.id = []*mvccpb.KeyValue{{Value: op.ValueBytes(), CreateRevision: 1, ModRevision: c.revision}}
		} else if string(op.KeyBytes()) == "snowfence/id" {
			r.Kvs = c.id
		}
		answer := &pb.ResponseOp_ResponseRange{ResponseRange: r}
		resp.Responses = append(resp.Responses, &pb.ResponseOp{Response: answer})
	}
	resp.Header = &pb.ResponseHeader{ClusterId: 7, Revision: c.revision}
	return resp, nil
}

// TestRevisionFallsAfterAChange shows a program that the revision falls
// after the id was changed. A later program sees no identity of before.
func TestRevisionFallsAfterAChange(t *testing.T) {
	for _, later := range []bool{false, true} { // the snapshot is of after the change
		for _, told := range []bool{false, true} { // the program only got the error of the change
			c := &cluster{}
			open := func(o *Options) *Store { st, _ := New(&clientv3.Client{KV: c}, o); return st }
			ask := func(st *Store) string {
				_, _ = store.Identity(t.Context(), st, "") // a fall is an error once
				id, _ := store.Identity(t.Context(), st, "")
				return id
			}
			first, running, looks := open(nil), open(nil), open(&Options{ReadOnly: true})
			was, kept := ask(first), *c
			if told {
				ask(running)
			}
			if err := first.Suspect(t.Context(), was); err != nil {
				t.Fatal(err)
			}
			if later {
				was, kept = ask(first), *c
			}
			c.revision += 20
			if _, err := store.Identity(t.Context(), running, ""); (err != nil) != told {
				t.Fatal(err)
			}
			ask(looks)
			*c = kept
			ask(running)
			if id := ask(open(nil)); id == was || ask(looks) != id {
				t.Errorf("later %v, told %v: the identity was %q and is %q", later, told, was, id)
			}
		}
	}
}

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
