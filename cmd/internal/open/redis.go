//go:build !snowfence_no_redis

package open

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/snowfence/snowfence/redisstore"
)

var redisParams = append([]string{"prefix", "replicas", "aof", "ack_timeout"}, tlsParams...)

var sentinelParams = []string{"sentinel_user", "sentinel_password", "sentinel_password_file"}

// openRedis opens a server, the master that sentinels name, or a cluster.
func openRedis(ctx context.Context, a *address, env func(string) string) (*Store, error) {
	client, kind, o, timeout, err := a.connectRedis(ctx, env)
	if err != nil {
		return nil, err
	}
	closing := func() error { client.Close(); return nil }
	st, err := redisstore.New(client, &o)
	if err != nil {
		client.Close()
		return nil, a.wrapError(err)
	}
	return a.newStore(ctx, st, timeout, redisFindings(st, kind, &o), closing)
}

// connectRedis connects. kind is "", sentinel or cluster.
func (a *address) connectRedis(ctx context.Context, env func(string) string) (
	client rueidis.Client, kind string, o redisstore.Options, timeout time.Duration, err error,
) {
	base, kind, _ := strings.Cut(a.scheme, "+")
	known := redisParams
	if kind == "sentinel" {
		known = append(sentinelParams, known...)
	}
	if timeout, err = a.serverParams(env, known...); err != nil {
		return nil, kind, o, 0, err
	}
	o = redisstore.Options{Prefix: a.params["prefix"], ReadOnly: a.looks}
	if o.Replicas, err = a.numberParam("replicas", number{most: 100}); err != nil {
		return nil, kind, o, 0, err
	}
	if o.AOF, err = a.flagParam("aof", false); err != nil {
		return nil, kind, o, 0, err
	}
	if o.Timeout, err = a.durationParam("ack_timeout", time.Second); err != nil {
		return nil, kind, o, 0, err
	}
	c := rueidis.ClientOption{
		InitAddress: a.hosts, Username: a.user, Password: a.password, DisableCache: true,
		Dialer: net.Dialer{Timeout: timeout, KeepAlive: time.Second}, ClientName: "snowfence",
		ConnWriteTimeout: 2 * time.Second, // also of pings, so that a silent connection is given up
	}
	if kind != "sentinel" { // sentinels would get it, too
		c.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
			password, err := a.currentPassword()
			return rueidis.AuthCredentials{Username: a.user, Password: password}, err
		}
	}
	if c.TLSConfig, err = a.tlsConfig(base == "rediss"); err != nil {
		return nil, kind, o, 0, err
	}
	if len(a.hosts) == 0 {
		return nil, kind, o, 0, a.errorf("the host is missing: %s://HOST", a.scheme)
	}
	switch kind {
	case "":
		c.ForceSingleClient = true
		if len(a.hosts) > 1 {
			return nil, kind, o, 0, a.errorf("one server has one host: use %s+sentinel or %s+cluster for several",
				base, base)
		}
		c.SelectDB, err = a.databaseNumber(a.path)
	case "sentinel":
		master, db, _ := strings.Cut(a.path, "/")
		if master == "" {
			return nil, kind, o, 0, a.errorf("the name of the master is missing: %s://HOST,HOST,HOST/MASTER", a.scheme)
		}
		c.Sentinel = rueidis.SentinelOption{
			MasterSet: master, Dialer: c.Dialer, TLSConfig: c.TLSConfig, TopologyRefreshInterval: 5 * time.Second,
			Username: a.params["sentinel_user"], Password: a.params["sentinel_password"],
		}
		if file := a.params["sentinel_password_file"]; file != "" {
			if err := a.readPassword(&c.Sentinel.Password, file, "sentinel_password_file"); err != nil {
				return nil, kind, o, 0, err
			}
		}
		c.SelectDB, err = a.databaseNumber(db)
	default:
		if a.path != "" {
			err = a.errorf("a cluster has no numbered databases: write nothing after the hosts; the parameter prefix " +
				"keeps stores apart")
		}
	}
	if err != nil {
		return nil, kind, o, 0, err
	}
	if client, err = dialRedis(ctx, c, timeout); err != nil {
		return nil, kind, o, 0, a.wrapError(err)
	}
	return client, kind, o, timeout, nil
}

// databaseNumber reads the number of a database of a server.
func (a *address) databaseNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, a.errorf("write the number of a database after the hosts, such as 0")
	}
	return n, nil
}

// dialRedis connects, and gives up after the timeout. Otherwise each silent
// host would take a timeout of its own.
func dialRedis(ctx context.Context, c rueidis.ClientOption, timeout time.Duration) (rueidis.Client, error) {
	type dialed struct {
		client rueidis.Client
		err    error
	}
	done := make(chan dialed, 1)
	go func() {
		client, err := rueidis.NewClient(c)
		done <- dialed{client, err}
	}()
	late := func() {
		if d := <-done; d.err == nil {
			d.client.Close()
		}
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case d := <-done:
		return d.client, d.err
	case <-timer.C:
		go late()
		return nil, errNoAnswer
	case <-ctx.Done():
		go late()
		return nil, ctx.Err()
	}
}

// redisFindings says what Redis promises as it is set up, which is less
// than the others do.
func redisFindings(st *redisstore.Store, kind string, o *redisstore.Options) func(context.Context,
	string) ([]Finding, error) {
	return func(ctx context.Context, namespace string) ([]Finding, error) {
		v, err := st.Server(ctx, namespace)
		if err != nil {
			return nil, err
		}
		fsync := v.Fsync
		fsync = cmp.Or(fsync, "unknown")
		best := Finding{Name: "promise", Value: "best effort", Advice: "Redis may lose acknowledged writes at a " +
			"failover: what can be noticed is, the rest may make an ID twice"}
		if kind != "" && o.Replicas == 0 {
			best.Advice += "; with replicas=N, for all N that can be promoted, a grant counts only when all have it"
		}
		return []Finding{
			{Name: "redis_version", Value: v.Version},
			{Name: "maxmemory-policy", Value: v.Policy},
			{Name: "appendfsync", Value: fsync, Advice: v.Loses()},
			best,
		}, nil
	}
}
