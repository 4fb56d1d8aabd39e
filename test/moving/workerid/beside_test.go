//go:build unix

package workerid

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/redisstore/workerid"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// register registers as a new program of the original does, with a lifetime
// of a minute, and returns the worker number.
type register func() int64

// processes runs the original client in processes of its own.
func processes(t *testing.T, address, master string) register {
	return func() int64 {
		conf := []any{"one", address, 0, 31, 60}
		if master != "" {
			conf = append(conf, master)
		}
		return start(t, "original").number(conf...)
	}
}

// played sends what the original sends, as long as its numbers do not run
// out.
func played(t *testing.T, c rueidis.Client) register {
	return func() int64 {
		for {
			n, err := c.Do(t.Context(), c.B().Incr().Key("IdGen:WorkerId:Index").Build()).AsInt64()
			if err != nil || n > 31 {
				t.Fatal(n, err)
			}
			v, err := c.Do(t.Context(), c.B().Get().Key(key(n)).Build()).ToString()
			if err != nil && !rueidis.IsRedisNil(err) {
				t.Fatal(err)
			}
			if v != "Y" {
				set := c.B().Set().Key(key(n)).Value("Y").ExSeconds(60).Build()
				must(t, c.Do(t.Context(), set).Error())
				return n
			}
		}
	}
}

// beside runs programs of the original and ours on one range. All numbers
// differ, ours stay ours over renewals, and ours write nothing that the
// original counts with.
func beside(t *testing.T, c rueidis.Client, original register) {
	t.Helper()
	do := func(words ...string) string {
		t.Helper()
		s, err := c.Do(t.Context(), c.B().Arbitrary(words[0]).Keys(words[1:]...).Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
		return s
	}
	numbers := []int64{original(), original()}
	index, edit := do("GET", "IdGen:WorkerId:Index"), do("GET", "IdGen:WorkerId:Value:Edit")
	r := registrar(t, c, workerid.Options{Max: 31, Shared: true})
	ws, err := r.RegisterMany(t.Context(), 3)
	must(t, err)
	for _, w := range ws {
		if v := do("GET", key(w.Number())); v != "Y" {
			t.Errorf("the value of number %d is %q", w.Number(), v)
		}
		numbers = append(numbers, w.Number())
	}
	if i, e := do("GET", "IdGen:WorkerId:Index"), do("GET", "IdGen:WorkerId:Value:Edit"); i != index || e != edit {
		t.Errorf("Index and Edit were %s and %q, and are %s and %q", index, edit, i, e)
	}
	numbers = append(numbers, original())
	slices.Sort(numbers)
	if len(slices.Compact(slices.Clone(numbers))) != 6 || numbers[0] < 0 {
		t.Errorf("the numbers are %v", numbers)
	}
	// The renewals are ours: the time at which a key expires goes on.
	until := func(n int64) int64 {
		ms, err := c.Do(t.Context(), c.B().Pttl().Key(key(n)).Build()).AsInt64()
		must(t, err)
		return time.Now().UnixMilli() + ms
	}
	first := until(ws[0].Number())
	fleet.Eventually(t, "a renewal", func() error {
		if until(ws[0].Number()) < first+2000 {
			return errors.New("not yet")
		}
		return nil
	})
	for _, w := range ws {
		if !r.Validate(w.Number()) {
			t.Errorf("number %d is lost: %v", w.Number(), w.Err())
		}
		must(t, w.Close())
		if v := do("GET", key(w.Number())); v != "" {
			t.Errorf("number %d is not given back", w.Number())
		}
	}
}

func TestBesideTheOriginal(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	beside(t, single(t, s.Address()), processes(t, s.Address(), ""))
}

// TestBeforeRedis7 has a server without PEXPIRETIME, as all before 7.
func TestBeforeRedis7(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t, "--rename-command", "PEXPIRETIME", "")
	c := single(t, s.Address())
	if err := c.Do(t.Context(), c.B().Pexpiretime().Key("a").Build()).Error(); err == nil {
		t.Fatal("the server knows PEXPIRETIME")
	}
	beside(t, c, processes(t, s.Address(), ""))
	strangers(t, s, c)
}

func TestCommandsOfStrangers(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	strangers(t, s, single(t, s.Address()))
}

// strangers write to keys of ours, and leave one alone.
func strangers(t *testing.T, s *servers.Redis, c rueidis.Client) {
	t.Helper()
	r := registrar(t, c, workerid.Options{Min: 40, Max: 45})
	ws, err := r.RegisterMany(t.Context(), 6)
	must(t, err)
	commands := [][]string{
		{"SET", "Y", "EX", "100"},
		{"EXPIRE", "100"},
		{"PEXPIRE", fmt.Sprint((ttl - 100*time.Millisecond).Milliseconds())},
		{"PERSIST"},
		{"DEL"},
	}
	for i := range commands {
		commands[i] = slices.Insert(commands[i], 1, key(ws[i].Number()))
		s.Do(t, commands[i]...)
	}
	for i, command := range commands {
		lost(t, ws[i])
		if answer := s.Do(t, "EXISTS", key(ws[i].Number())); (answer == "1") == (command[0] == "DEL") {
			t.Errorf("%s: the key was written: %s", command[0], answer)
		}
	}
	if left := ws[5]; !r.Validate(left.Number()) {
		t.Errorf("number %d is lost too: %v", left.Number(), left.Err())
	}
}

// TestNeededRights has a user with the rights of the package comment, and
// one with PEXPIRETIME besides, which Redis 6.2 does not know.
func TestNeededRights(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	comment, err := os.ReadFile("../../../redisstore/workerid/doc.go")
	must(t, err)
	_, rest, _ := strings.Cut(string(comment), "//	ACL SETUSER ids on >PASSWORD ")
	rule, _, _ := strings.Cut(rest, "\n//\n")
	if !strings.HasPrefix(rule, "~") || strings.Contains(rule, "+pexpiretime") {
		t.Fatalf("Redis 6.2 refuses %q", rule)
	}
	for _, command := range []string{"-pexpiretime", "+pexpiretime"} {
		s.Do(t, strings.Fields("ACL SETUSER ids reset on >secret +hello +auth +ping +client "+rule+" "+command)...)
		c := open(t, rueidis.ClientOption{
			InitAddress: []string{s.Address()}, ForceSingleClient: true, Username: "ids", Password: "secret",
		})
		w := one(t, registrar(t, c, workerid.Options{Max: 31}))
		if err := w.Close(); err != nil || s.Do(t, "EXISTS", key(w.Number())) != "0" {
			t.Error(command, err)
		}
	}
}

func TestBesideTheOriginalBehindSentinel(t *testing.T) {
	t.Parallel()
	s := servers.StartSentinel(t, 1)
	c := open(t, rueidis.ClientOption{
		InitAddress: s.Addresses(),
		Sentinel:    rueidis.SentinelOption{MasterSet: servers.SentinelMaster, TopologyRefreshInterval: time.Second},
	})
	beside(t, c, processes(t, strings.Join(s.Addresses(), ","), servers.SentinelMaster))
	// After a failover the generator goes on, with this number or another
	// one.
	r := registrar(t, c, workerid.Options{Min: 40, Max: 44})
	g := generator(t, r)
	s.Master(t).Kill()
	goesOn(t, g)
	fleet.Eventually(t, "a grant from the new master", func() error {
		if gr, ok := g.Grant(); !ok || g.Scheme().Layout().TimeOf(gr.Until).Before(time.Now().Add(10*time.Second)) {
			return fmt.Errorf("the grant is %+v, %v", gr, ok)
		}
		return nil
	})
	goesOn(t, g)
}

// TestBesideTheOriginalInACluster plays the original by the commands that
// it sends, because its client does not understand the cluster of Redis 7.
func TestBesideTheOriginalInACluster(t *testing.T) {
	t.Parallel()
	s := servers.StartRedisCluster(t)
	if n := processes(t, strings.Join(s.Addresses(), ","), "")(); n != -1 {
		t.Errorf("the original got %d: run it here, in place of the player", n)
	}
	c := open(t, rueidis.ClientOption{InitAddress: s.Addresses()})
	beside(t, c, played(t, c))
}

func generator(t testing.TB, r *workerid.Registrar) *snowfence.Generator {
	t.Helper()
	f, err := r.Fence(t.Context(), fleet.Default(t))
	must(t, err)
	g, err := snowfence.New(snowfence.Config{Fence: f})
	must(t, err)
	t.Cleanup(func() { _ = g.Close() }) // the server may be gone
	return g
}

func goesOn(t testing.TB, g *snowfence.Generator) {
	t.Helper()
	fleet.Eventually(t, "an ID", func() error {
		_, err := g.Next(t.Context())
		return err
	})
}

// TestAPausedOriginalThatWakes renews our number blindly, and deletes it
// when it ends. Both are noticed.
func TestAPausedOriginalThatWakes(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	p := start(t, "original")
	n := p.number("one", s.Address(), 7, 7, 10) // long enough for a busy machine
	p.signal(syscall.SIGSTOP)
	only := workerid.Options{Min: 7, Max: 7, Shared: true}
	w := one(t, registrar(t, single(t, s.Address()), only)) // when the number has run out
	if n != 7 || w.Number() != 7 {
		t.Fatal(n, w.Number())
	}
	p.signal(syscall.SIGCONT)
	lost(t, w)
	if s.Do(t, "EXISTS", key(7)) != "1" {
		t.Error("the key of the original was deleted")
	}
	// Deleted by it: its list still has the number.
	p.signal(syscall.SIGSTOP)
	again := one(t, registrar(t, single(t, s.Address()), only))
	p.signal(syscall.SIGCONT)
	p.ask("unregister")
	lost(t, again)
}

// TestASetThatComesTooLate: a number that was free when we looked is set by
// another program first.
func TestASetThatComesTooLate(t *testing.T) {
	t.Parallel()
	s := servers.StartRedis(t)
	met, open := make(chan struct{}), make(chan struct{})
	come, release := sync.OnceFunc(func() { close(met) }), sync.OnceFunc(func() { close(open) })
	way := relay.Start(t, s.Address(), func(_ *relay.Conn, b []byte) []byte {
		if bytes.Contains(b, []byte("SET\r\n$")) && bytes.Contains(b, []byte(key(7)+"\r\n")) {
			come()
			<-open
		}
		return b
	}, nil)
	t.Cleanup(release)
	got := make(chan error, 1)
	r := registrar(t, single(t, way.Address), workerid.Options{Min: 7, Max: 7, TTL: 3 * time.Second})
	go func() {
		_, err := r.RegisterOne(t.Context())
		got <- err
	}()
	select {
	case <-met:
	case <-time.After(fleet.Patience()):
		t.Fatal("the number is not set")
	}
	s.Do(t, "SET", key(7), "Y", "EX", "1000")
	release()
	if err := <-got; err == nil {
		t.Error("we got another program's number")
	}
	if ms := number(s.Do(t, "PTTL", key(7))); ms < 100_000 {
		t.Errorf("the key has %d ms left of 1000 s", ms)
	}
}
