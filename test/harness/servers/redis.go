package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Redis is a Redis server on loopback.
type Redis struct {
	*Process
	Port int
	Dir  string // its data
	tls  *Certs
}

// StartRedis starts a Redis server with an append-only file that is synced
// with each write, and no snapshots. options are further ones, as for the
// command: "--maxmemory-policy", "allkeys-lru". It is ready when this
// returns.
func StartRedis(t testing.TB, options ...string) *Redis {
	t.Helper()
	return startRedis(t, nil, options)
}

// StartRedisTLS starts a Redis server that speaks TLS only.
func StartRedisTLS(t testing.TB, options ...string) *Redis {
	t.Helper()
	c := NewCerts(t)
	return startRedis(t, c, append([]string{
		"--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA, "--tls-auth-clients", "no",
	}, options...))
}

func startRedis(t testing.TB, c *Certs, options []string) *Redis {
	t.Helper()
	path := Need(t, "redis", "redis-server", "redis-cli")[0]
	r := &Redis{Dir: t.TempDir(), Port: Ports(t, 1)[0], tls: c}
	args := []string{
		"--bind", "127.0.0.1", "--dir", r.Dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}
	if c == nil {
		args = append(args, "--port", strconv.Itoa(r.Port))
	} else {
		args = append(args, "--port", "0", "--tls-port", strconv.Itoa(r.Port))
	}
	r.Process = Start(t, "redis", path, append(args, options...), nil)
	r.Ready(t, r.ping)
	return r
}

// Address is where the server listens.
func (r *Redis) Address() string { return Address(r.Port) }

// URL is the program's name of the server.
func (r *Redis) URL() string {
	if r.tls != nil {
		return "rediss://" + r.Address()
	}
	return "redis://" + r.Address()
}

// Certs are the certificates of a server that speaks TLS, and nil for
// others.
func (r *Redis) Certs() *Certs { return r.tls }

// Again starts the server again after Kill or Stop, with the data that it
// left, and waits until it is ready.
func (r *Redis) Again(t testing.TB) {
	t.Helper()
	r.Restart(t)
	r.Ready(t, r.ping)
}

// End asks the server to end and waits until it has.
func (r *Redis) End(t testing.TB) { t.Helper(); r.Stop(t, syscall.SIGTERM) }

func (r *Redis) ping() error {
	if r.tls != nil { // that it listens has to do
		c, err := net.DialTimeout("tcp", r.Address(), patience)
		if err != nil {
			return err
		}
		return c.Close()
	}
	if answer, err := redisCommand(r.Address(), "PING"); err != nil && !strings.HasPrefix(answer, "NOAUTH") {
		return err
	}
	return nil
}

// Do sends a command to the server, and returns the answer as redis-cli
// prints it.
func (r *Redis) Do(t testing.TB, command ...string) string {
	t.Helper()
	answer, err := redisCommand(r.Address(), command...)
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return answer
}

// Field returns a field of INFO, "" if there is none.
func (r *Redis) Field(name string) string {
	info, err := redisCommand(r.Address(), "INFO")
	if err != nil {
		return ""
	}
	return infoField(info, name)
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Follow makes the server a replica of another one, and waits until it has
// the data and acknowledges writes.
func (r *Redis) Follow(t testing.TB, master *Redis) {
	t.Helper()
	r.Do(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port))
	r.Ready(t, func() error {
		if up := r.Field("master_link_status"); up != "up" {
			return fmt.Errorf("the replica's link is %q", up)
		}
		if info := master.Do(t, "INFO", "replication"); !strings.Contains(info,
			fmt.Sprintf("port=%d,state=online", r.Port)) {
			return errors.New(info)
		}
		return nil
	})
}

// redisCommand sends a command by redis-cli, and returns the answer as it
// prints it.
func redisCommand(address string, command ...string) (string, error) {
	host, port, _ := net.SplitHostPort(address) // it is ours
	args := append([]string{"-e", "-h", host, "-p", port}, command...)
	out, err := exec.Command("redis-cli", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("redis-cli: %w: %s", err, text)
	}
	return text, err
}

// Sentinel is a master with replicas and three sentinels that watch them.
type Sentinel struct {
	Servers   []*Redis // the first one was the master at the start
	Sentinels []*Process
	ports     []int
}

// SentinelMaster is the sentinels' name of the master.
const SentinelMaster = "ids"

// StartSentinel starts a master, replicas and three sentinels, which take a
// server for down after two seconds. All know each other when this returns.
// options are for the servers.
func StartSentinel(t testing.TB, replicas int, options ...string) *Sentinel {
	t.Helper()
	path := Need(t, "redis", "redis-sentinel")[0]
	s := &Sentinel{Servers: []*Redis{StartRedis(t, options...)}}
	for range replicas { // before the sentinels, which otherwise take 10 s to find them
		r := StartRedis(t, options...)
		r.Follow(t, s.Servers[0])
		s.Servers = append(s.Servers, r)
	}
	s.ports = Ports(t, 3)
	for _, port := range s.ports {
		conf := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %d 2\nsentinel "+
			"down-after-milliseconds %[2]s 2000\n"+
			"sentinel failover-timeout %[2]s 3000\n", port, SentinelMaster, s.Servers[0].Port)
		must(t, os.WriteFile(conf, []byte(text), 0o600))
		s.Sentinels = append(s.Sentinels, Start(t, "sentinel", path, []string{conf}, nil))
	}
	for i, port := range s.ports {
		s.Sentinels[i].Ready(t, func() error {
			info, err := redisCommand(Address(port), "INFO", "sentinel")
			if err == nil && !strings.Contains(info,
				fmt.Sprintf("status=ok,address=127.0.0.1:%d,slaves=%d,sentinels=3", s.Servers[0].Port, replicas)) {
				err = errors.New(info)
			}
			return err
		})
	}
	return s
}

// Addresses are the sentinels' addresses.
func (s *Sentinel) Addresses() []string {
	var out []string
	for _, p := range s.ports {
		out = append(out, Address(p))
	}
	return out
}

// URL returns the URL of the servers, for the program.
func (s *Sentinel) URL() string {
	return "redis+sentinel://" + strings.Join(s.Addresses(), ",") + "/" + SentinelMaster
}

// Master returns the server that most sentinels take for the master now,
// and that is one.
func (s *Sentinel) Master(t testing.TB) *Redis {
	t.Helper()
	var master *Redis
	s.Sentinels[0].Ready(t, func() error {
		votes := map[string]int{}
		for _, port := range s.ports {
			info, _ := redisCommand(Address(port), "INFO", "sentinel") // one that is gone has no vote
			for _, r := range s.Servers {
				if strings.Contains(info, "address="+r.Address()+",") {
					votes[r.Address()]++
				}
			}
		}
		for _, r := range s.Servers {
			if votes[r.Address()] >= 2 && r.Field("role") == "master" {
				master = r
				return nil
			}
		}
		return fmt.Errorf("no master: %v", votes)
	})
	return master
}

// RedisCluster is a Redis Cluster on loopback.
type RedisCluster struct {
	Servers []*Redis
}

// StartRedisCluster starts a cluster of three masters with a replica each,
// which takes a server for down after 15 seconds. All slots are served when
// this returns.
func StartRedisCluster(t testing.TB, options ...string) *RedisCluster {
	t.Helper()
	cli := Need(t, "redis", "redis-server", "redis-cli")[1]
	c := &RedisCluster{}
	args := []string{"--cluster", "create"}
	for range 6 {
		bus := Ports(t, 1)[0]
		r := StartRedis(t, append([]string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "15000",
			"--cluster-port", strconv.Itoa(bus),
		}, options...)...)
		c.Servers = append(c.Servers, r)
		args = append(args, r.Address())
	}
	create := Start(t, "redis-cli", cli, append(args, "--cluster-replicas", "1", "--cluster-yes"), nil)
	select {
	case <-create.Done():
	case <-time.After(patience):
		t.Fatalf("the cluster was not made in %v", patience)
	}
	for _, r := range c.Servers {
		r.Ready(t, func() error {
			info, err := redisCommand(r.Address(), "CLUSTER", "INFO")
			if err == nil && (infoField(info, "cluster_state") != "ok" ||
				infoField(info, "cluster_known_nodes") != "6") {
				err = errors.New(info)
			}
			if err == nil && r.Field("role") == "slave" && r.Field("master_link_status") != "up" {
				err = errors.New("a replica has no data yet")
			}
			return err
		})
	}
	return c
}

// Addresses are the addresses of all servers.
func (c *RedisCluster) Addresses() []string {
	var out []string
	for _, r := range c.Servers {
		out = append(out, r.Address())
	}
	return out
}

// URL returns the URL of the cluster, for the program.
func (c *RedisCluster) URL() string { return "redis+cluster://" + strings.Join(c.Addresses(), ",") }

// Owner returns the master that has a key, and nil while none has it.
func (c *RedisCluster) Owner(key string) *Redis {
	for _, r := range c.Servers {
		if r.Field("role") != "master" {
			continue
		}
		if _, err := redisCommand(r.Address(), "TYPE", key); err == nil {
			return r
		}
	}
	return nil
}
