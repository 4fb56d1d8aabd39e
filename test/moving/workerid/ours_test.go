//go:build unix

package workerid

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/redisstore/workerid"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// In TestAStoppedProcess a process wakes up when another one has its
// number. It makes none of the IDs of that number.
func TestAStoppedProcess(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	stopped, next := start(t, "ours"), start(t, "ours")
	if n := stopped.number("open", s.Address(), 9, 9, 10); n != 9 {
		t.Fatal(n)
	}
	stopped.tell("ids", 3_000_000) // it makes them for some hundred milliseconds at least
	time.Sleep(50 * time.Millisecond)
	stopped.signal(syscall.SIGSTOP)
	if n := next.number("open", s.Address(), 9, 9, 10); n != 9 {
		t.Fatal(n)
	}
	made := next.ask("ids", 200_000)
	stopped.signal(syscall.SIGCONT)
	made += " " + next.ask("ids", 200_000)
	made += " " + stopped.answer()
	seen := map[string]bool{}
	total := 0
	for id := range strings.FieldsSeq(made) {
		seen[id] = true
		total++
	}
	if len(seen) != total || total < 400_000 {
		t.Errorf("%d IDs, and %d of them differ", total, len(seen))
	}
}

// TestAsInTheOriginal uses the functions with its parameters and results.
func TestAsInTheOriginal(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	conf := workerid.RegisterConf{
		Address: s.Address(), DB: 4, MinWorkerId: 30, MaxWorkerId: 33, TotalCount: 6, LifeTimeSeconds: 6,
	}
	for name, change := range map[string]func(c *workerid.RegisterConf){
		"a negative last number": func(c *workerid.RegisterConf) { c.MinWorkerId, c.MaxWorkerId = -2, -1 },
		"an empty range":         func(c *workerid.RegisterConf) { c.MinWorkerId = 34 },
		"no lifetime":            func(c *workerid.RegisterConf) { c.LifeTimeSeconds = 0 },
		"a short lifetime":       func(c *workerid.RegisterConf) { c.LifeTimeSeconds = 2 },
	} {
		c := conf
		change(&c)
		if n, many := workerid.RegisterOne(c), workerid.RegisterMany(c); n != -2 || len(many) != 1 || many[0] != -2 {
			t.Errorf("%s: %d, %v", name, n, many)
		}
	}
	none := conf
	none.TotalCount = 0
	if many := workerid.RegisterMany(none); len(many) != 1 || many[0] != -1 {
		t.Error(many)
	}
	away := conf
	away.Address = servers.Address(servers.Ports(t, 1)[0])
	if n, many := workerid.RegisterOne(away), workerid.RegisterMany(away); n != -1 || len(many) != 6 || many[5] != -1 {
		t.Error(n, many)
	}
	first := workerid.RegisterOne(conf)
	if first < 30 || first > 33 || workerid.Validate(first) != 1 || workerid.Validate(first-1) != 0 {
		t.Fatal(first)
	}
	f, err := workerid.FenceOf(first, fleet.Default(t))
	must(t, err)
	g, err := snowfence.New(snowfence.Config{Fence: f})
	must(t, err)
	goesOn(t, g)
	// The next registration gives the first back, and seals its generator.
	many := workerid.RegisterMany(conf)
	tests.Fails(t, tests.ErrOf(g.TryNext()), "a number that was given back makes IDs")
	got := map[int32]bool{}
	for _, n := range many {
		got[n] = true
	}
	if len(many) != 6 || len(got) != 5 || !got[-1] || many[4] != -1 {
		t.Error(many)
	}
	workerid.UnRegister()
	if workerid.Validate(many[0]) != 0 {
		t.Error("a number that was given back is valid")
	}
	tests.Fails(t, tests.ErrOf(workerid.FenceOf(many[0], fleet.Default(t))), "a number that was given back has a fence")
	if keys := s.Do(t, "EVAL", "redis.call('SELECT', 4) return #redis.call('KEYS', '*')", "0"); keys != "0" {
		t.Error("keys are left", keys)
	}
	must(t, g.Close())
}
