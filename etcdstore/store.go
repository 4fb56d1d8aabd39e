// Package etcdstore keeps leases in etcd: an implementation of [lease.Store] over the caller's client.
package etcdstore

import (
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Store keeps leases in etcd.
type Store struct{ client *clientv3.Client }
