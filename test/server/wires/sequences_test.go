package wires

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// sequences makes some in a new embedded file, and returns its address.
func sequences(t *testing.T) (store string) {
	t.Helper()
	store = "sqlite:" + filepath.Join(t.TempDir(), "sequences.db")
	for _, args := range [][]string{
		{"orders"},
		{"shop.orders", "--start", "1000"},
		{"strict", "--mode", "strict"},
		{"dense", "--mode", "dense"},
		{"few", "--max", "3", "--mode", "strict"},
		{"bills", "--pattern", "{year}-{n:6}"},
	} {
		command(t, append([]string{"sequence", "create", "--store", store}, args...)...)
	}
	return store
}

// command runs the program.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servers.Program(t, servers.Snowfence), args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestRedisCLICounts(t *testing.T) {
	cli := servers.Need(t, "redis", "redis-cli")[0]
	s := serve(t, sequences(t))
	_, port, _ := strings.Cut(s.resp, ":")
	for _, version := range []string{"-2", "-3"} {
		cmd := exec.CommandContext(t.Context(), cli, version, "-p", port, "--no-auth-warning", "-a", secret)
		cmd.Stdin = strings.NewReader(strings.Join([]string{
			"INCR shop:orders", "INCRBY shop:orders 10", "GET shop:orders", "TTL orders", "GET nothing", "INCR few",
			"INCR nothing", "EXPIRE orders 60", "SET orders 1", "DECR orders",
			"MULTI", "INCR strict", "INCRBY strict 2", "INCR nothing", "GET strict", "EXEC",
		}, "\n"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := string(out)
		for _, want := range []string{
			"NOSEQUENCE", "never begin again", "--start N", "--step -1", "QUEUED\nQUEUED\nQUEUED\nQUEUED\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", version, want, text)
			}
		}
		first := map[string]string{"-2": "1000\n1010\n1010\n-1\n", "-3": "1011\n1021\n1021\n-1\n"}[version]
		last := map[string]string{"-2": "1\n3\n", "-3": "4\n6\n"}[version]
		if !strings.HasPrefix(text, first) || !strings.Contains(text, last) {
			t.Errorf("%s: no %q and %q in\n%s", version, first, last, text)
		}
	}
}

// The pipeline of redis-py sends MULTI and EXEC by itself.
func TestRedisPyCounts(t *testing.T) {
	python := servers.Need(t, "redis-py", "/usr/bin/python3")[0]
	s := serve(t, sequences(t))
	host, port, _ := strings.Cut(s.resp, ":")
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("python", "counts.py"), host, port, secret)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestIORedisCounts(t *testing.T) {
	s := serve(t, sequences(t))
	runNode(t, "counts.mjs", s.resp)
}

// Clients of two servers over one store share the numbers: none comes twice, those of one server
// rise, and those of a strict sequence rise over both. What a dense one holds goes back when its
// server stops.
func TestCountersOfTwoServers(t *testing.T) {
	store := sequences(t)
	all := []*served{serve(t, store), serve(t, store)}
	const each = 2000
	got := map[string][2][]int64{}
	var mu sync.Mutex
	var clients sync.WaitGroup
	var clientsOf [2]*goredis.Client
	for i, s := range all {
		c := goRedis(t, s.resp, goredis.Options{Password: secret})
		clientsOf[i] = c
		for _, name := range []string{"orders", "strict"} {
			clients.Go(func() {
				var numbers []int64
				for len(numbers) < each {
					replies, err := c.Pipelined(t.Context(), func(p goredis.Pipeliner) error {
						for range 100 {
							p.Incr(t.Context(), name)
						}
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range replies {
						numbers = append(numbers, r.(*goredis.IntCmd).Val())
					}
				}
				mu.Lock()
				defer mu.Unlock()
				both := got[name]
				both[i] = numbers
				got[name] = both
			})
		}
	}
	clients.Wait()
	for name, both := range got {
		seen := map[int64]bool{}
		for _, numbers := range both {
			for i, n := range numbers {
				if seen[n] || i > 0 && n <= numbers[i-1] {
					t.Fatalf("%s: %d comes twice, or does not rise", name, n)
				}
				seen[n] = true
			}
		}
		if len(seen) != 2*each {
			t.Errorf("%s: %d numbers", name, len(seen))
		}
	}
	before := int64(0)
	for i := range 20 {
		n, err := clientsOf[i%2].Incr(t.Context(), "strict").Result()
		if err != nil || n <= before {
			t.Fatalf("%d after %d, %v", n, before, err)
		}
		before = n
	}
	highest, err := clientsOf[0].IncrBy(t.Context(), "dense", 7).Result()
	if err != nil {
		t.Fatal(err)
	}
	all[0].Stop(t, syscall.SIGTERM)
	if next, err := clientsOf[1].Incr(t.Context(), "dense").Result(); err != nil || next != highest+1 {
		t.Errorf("after a clean stop %d comes after %d, %v", next, highest, err)
	}
}
