//go:build unix

package workerid

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/redisstore/workerid"
	"github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

// TestManyProcesses start at once on as many numbers.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	count := 50
	if testing.Short() {
		count = 8
	}
	ps := make([]*player, count)
	for i := range ps {
		ps[i] = start(t, "ours")
	}
	for _, p := range ps {
		p.tell("open", s.Address(), 1, count, 60)
	}
	numbers, ids := map[string]bool{}, map[string]bool{}
	for _, p := range ps {
		numbers[p.answer()] = true
	}
	for _, p := range ps {
		p.tell("ids", 1000)
	}
	for _, p := range ps {
		for id := range strings.FieldsSeq(p.answer()) {
			ids[id] = true
		}
	}
	if len(numbers) != count || len(ids) != 1000*count {
		t.Errorf("%d processes have %d numbers, %v, and %d IDs", count, len(numbers), numbers, len(ids))
	}
	for _, p := range ps {
		if a := p.ask("close"); a != "<nil>" {
			t.Error(a)
		}
	}
}

// TestAStoppedProcess wakes after another one has its number, and makes none of its IDs.
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

// TestRedisIsCutOff: IDs end within the TTL, and come again when Redis answers.
func TestRedisIsCutOff(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	g := generator(t, registrar(t, single(t, s.Address()), workerid.Options{Max: 3, TTL: 10 * time.Second}))
	goesOn(t, g)
	s.Signal(t, syscall.SIGSTOP)
	fleet.Eventually(t, "no grant", func() error {
		if _, ok := g.Grant(); ok {
			return os.ErrExist
		}
		return nil
	})
	if id, err := g.TryNext(); err == nil {
		t.Errorf("made %d without a grant", id)
	}
	s.Signal(t, syscall.SIGCONT)
	goesOn(t, g)
}

// TestRedisLosesItsData: ours notice, and take numbers again, each its own.
func TestRedisLosesItsData(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t, "--appendonly", "no")
	r := registrar(t, single(t, s.Address()), workerid.Options{Max: 9})
	ws, err := r.RegisterMany(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	gs := []*snowfence.Generator{generator(t, r), generator(t, r)}
	var before []int64
	for _, g := range gs {
		gr, _ := g.Grant()
		before = append(before, gr.Node)
	}
	s.Kill()
	s.Again(t)
	for _, w := range ws {
		lost(t, w)
	}
	fleet.Eventually(t, "other numbers", func() error {
		after := map[int64]bool{}
		for i, g := range gs {
			_, _ = g.TryNext() // it asks for a grant
			if gr, ok := g.Grant(); ok && gr.Node != before[i] {
				after[gr.Node] = true
			}
		}
		if len(after) != len(gs) {
			return os.ErrNotExist
		}
		return nil
	})
	for _, g := range gs {
		goesOn(t, g)
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
	if err != nil {
		t.Fatal(err)
	}
	g, err := snowfence.New(snowfence.Config{Fence: f})
	if err != nil {
		t.Fatal(err)
	}
	goesOn(t, g)
	// The next registration gives the first back, and seals its generator.
	many := workerid.RegisterMany(conf)
	if _, err := g.TryNext(); err == nil {
		t.Error("a number that was given back makes IDs")
	}
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
	if _, err := workerid.FenceOf(many[0], fleet.Default(t)); err == nil {
		t.Error("a number that was given back has a fence")
	}
	if keys := s.Do(t, "EVAL", "redis.call('SELECT', 4) return #redis.call('KEYS', '*')", "0"); keys != ":0" {
		t.Error("keys are left", keys)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
