package wires

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var blockOfShell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestMoveFromRedis runs the commands of docs/move/redis-incr.md, while old
// programs count in Redis and new ones on a server. No number comes twice.
func TestMoveFromRedis(t *testing.T) {
	cli := servers.Need(t, "redis", "redis-cli")[0]
	page, err := os.ReadFile("../../../docs/move/redis-incr.md")
	must(t, err)
	blocks := blockOfShell.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 6 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	old := servers.StartRedis(t)
	_, oldPort, _ := strings.Cut(old.Address(), ":")
	store := "sqlite:" + filepath.Join(t.TempDir(), "sequences.db")
	run := func(block int) (printed string) {
		t.Helper()
		for line := range strings.Lines(blocks[block][1]) {
			args := strings.Fields(line)
			if args[0] == "snowfence" {
				command(t, append(args[1:], "--store", store)...)
				continue
			}
			args = append([]string{"-p", oldPort}, args[1:]...)
			printed = strings.TrimSpace(tests.Run(t, exec.CommandContext(t.Context(), cli, args...)))
		}
		return printed
	}

	ctx := t.Context()
	was := redisClient(t, old.Address(), "")
	must(t, was.Do(ctx, was.B().Set().Key("orders").Value("4000000").Build()).Error())
	incrBy := func(c rueidis.Client, n int64) error {
		return c.Do(ctx, c.B().Incrby().Key("orders").Increment(n).Build()).Error()
	}
	blocks = blocks[2:] // the others are in TestImport of the program
	if end := run(0); end != "5000000" {
		t.Fatalf("the block ends at %s", end)
	}
	run(1)
	s := serve(t, store)
	now := redisClient(t, s.resp, secret)

	var mu sync.Mutex
	seen := map[int64]bool{}
	count := func(c rueidis.Client, n int) {
		for range n {
			got, err := c.Do(ctx, c.B().Incr().Key("orders").Build()).AsInt64()
			mu.Lock()
			if err != nil || seen[got] {
				t.Errorf("%d, %v: it came before", got, err)
			}
			seen[got] = true
			mu.Unlock()
		}
	}
	var programs sync.WaitGroup
	for range 2 {
		programs.Go(func() { count(was, 1000) })
		programs.Go(func() { count(now, 1000) })
	}
	programs.Wait()
	must(t, incrBy(was, 7_000_000-5_000_000-2000))
	if last := run(2); last != "7000000" {
		t.Fatalf("the old counter ended at %s", last)
	}
	tests.Fails(t, incrBy(was, 1), "a forgotten program goes on")
	run(3)
	count(now, 3000)
	for range 4 { // through what the server held
		must(t, incrBy(now, 1_000_000))
	}
	count(now, 10)
	for n := range seen {
		if n > 5_002_000 && n <= 7_000_000 {
			t.Fatalf("%d was of the old counter", n)
		}
	}
}
