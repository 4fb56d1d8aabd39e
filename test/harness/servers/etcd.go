package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Etcd is one member of an etcd cluster, or a cluster of one.
type Etcd struct {
	*Process
	Port, PeerPort int
	Dir            string // the data, which outlives the process
}

// URL is where clients reach the member, without a user.
func (e *Etcd) URL() string { return "http://" + Address(e.Port) }

// StartEtcd starts a cluster of one member, with more of etcd's flags, and
// waits until it has a leader.
func StartEtcd(t testing.TB, flags ...string) *Etcd {
	t.Helper()
	return StartEtcdCluster(t, 1, flags...)[0]
}

// StartEtcdCluster starts a cluster of n members and waits until it has a
// leader.
func StartEtcdCluster(t testing.TB, n int, flags ...string) []*Etcd {
	t.Helper()
	return startEtcd(t, n, "", flags)
}

// startEtcd starts members that listen at more, too: a comma and a URL.
func startEtcd(t testing.TB, n int, more string, flags []string) []*Etcd {
	t.Helper()
	path, ports := Need(t, "etcd", "etcd")[0], Ports(t, 2*n)
	members := make([]*Etcd, n)
	var all []string
	for i := range members {
		members[i] = &Etcd{Port: ports[i], PeerPort: ports[n+i], Dir: filepath.Join(t.TempDir(), fmt.Sprint("etcd", i))}
		all = append(all, fmt.Sprintf("m%d=http://%s", i, Address(members[i].PeerPort)))
	}
	for i, e := range members {
		name, peer := fmt.Sprint("m", i), "http://"+Address(e.PeerPort)
		args := append([]string{
			"--name=" + name, "--data-dir=" + e.Dir, "--listen-client-urls=" + e.URL() + more,
			"--advertise-client-urls=" + e.URL(),
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + strings.Join(all, ","),
			"--log-level=error", "--logger=zap",
		}, flags...)
		e.Process = Start(t, fmt.Sprint("etcd", i), path, args, nil)
	}
	for _, e := range members {
		e.AwaitHealthy(t)
	}
	return members
}

// StartEtcdTLS starts a cluster of one member that clients reach over TLS
// too, and returns where.
func StartEtcdTLS(t testing.TB, c *Certs) string {
	t.Helper()
	url := "https://" + Address(Ports(t, 1)[0])
	startEtcd(t, 1, ","+url, []string{"--cert-file=" + c.Cert, "--key-file=" + c.Key})
	return url
}

// Healthy returns nil when the member knows a leader and can commit. The
// health page needs neither TLS nor a user.
func (e *Etcd) Healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := Get(ctx, e.URL()+"/health")
	return err
}

// AwaitHealthy waits until the member is healthy.
func (e *Etcd) AwaitHealthy(t testing.TB) {
	t.Helper()
	e.Ready(t, e.Healthy)
}

// Save writes a snapshot of the data to a file, as an operator would.
func (e *Etcd) Save(t testing.TB, file string) {
	t.Helper()
	cmd := exec.Command(Need(t, "etcd", "etcdctl")[0], "--endpoints", e.URL(), "snapshot", "save", file)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	tests.Run(t, cmd)
}

// Restore puts a snapshot in place of the data of a cluster of one, which
// does not run. It uses etcdutl where that is installed, because etcdctl
// cannot restore from etcd 3.6 on.
func (e *Etcd) Restore(t testing.TB, file, token string) {
	t.Helper()
	must(t, os.RemoveAll(e.Dir))
	tool, err := exec.LookPath("etcdutl")
	if err != nil {
		tool = Need(t, "etcd", "etcdctl")[0]
	}
	peer := "http://" + Address(e.PeerPort)
	cmd := exec.Command(tool, "snapshot", "restore", file, "--data-dir="+e.Dir, "--name=m0",
		"--initial-cluster=m0="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster-token="+token)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	tests.Run(t, cmd)
}

// EtcdConfig is the configuration of a client which soon notices members
// that come and go.
func EtcdConfig(endpoints ...string) clientv3.Config {
	return clientv3.Config{
		// otherwise each attempt of a request is logged
		Endpoints: endpoints, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		})},
	}
}

// EtcdClient returns a client of a cluster's members, which is closed when
// the test ends.
func EtcdClient(t testing.TB, members ...*Etcd) *clientv3.Client {
	t.Helper()
	var urls []string
	for _, e := range members {
		urls = append(urls, e.URL())
	}
	return EtcdClientOf(t, EtcdConfig(urls...))
}

// EtcdClientOf returns a client as configured, which is closed when the
// test ends.
func EtcdClientOf(t testing.TB, cfg clientv3.Config) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return c
}
