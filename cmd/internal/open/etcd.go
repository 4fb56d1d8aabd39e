//go:build !snowfence_no_etcd

package open

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/etcdstore"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// openEtcd opens a cluster, by any of its members.
func openEtcd(ctx context.Context, a *address, env func(string) string) (*Store, error) {
	timeout, err := a.serverParams(env, append([]string{"prefix", "timeout"}, tlsParams...)...)
	if err != nil {
		return nil, err
	}
	o := etcdstore.Options{Prefix: a.params["prefix"], ReadOnly: a.looks}
	if o.Timeout, err = a.durationParam("timeout", 3*time.Second); err != nil {
		return nil, err
	}
	secure, err := a.tlsConfig(false)
	switch {
	case err != nil:
		return nil, err
	case len(a.hosts) == 0:
		return nil, a.errorf("the hosts are missing: etcd://HOST,HOST,HOST")
	case a.path != "":
		return nil, a.errorf("write nothing after the hosts: the parameter prefix is for the place of the keys")
	case (a.user == "") != (a.password == ""):
		return nil, a.errorf("a user and a password belong together: give both")
	}
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	c := clientv3.Config{
		// Its texts are in the errors.
		TLS: secure, Username: a.user, Password: a.password, DialTimeout: timeout, Logger: zap.NewNop(),
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		// A member that came back is found within a second.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		})},
	}
	for _, h := range a.hosts {
		c.Endpoints = append(c.Endpoints, scheme+h)
	}
	client, err := clientv3.New(c)
	if err != nil {
		return nil, a.wrapError(err)
	}
	st, err := etcdstore.New(client, &o)
	if err != nil {
		_ = client.Close()
		return nil, a.wrapError(err)
	}
	version := func(ctx context.Context, _ string) ([]Finding, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		status, err := client.Status(ctx, c.Endpoints[0])
		if err != nil {
			return nil, a.wrapError(err)
		}
		return []Finding{{Name: "etcd_version", Value: status.Version}}, nil
	}
	return a.newStore(ctx, st, timeout, version, client.Close)
}
