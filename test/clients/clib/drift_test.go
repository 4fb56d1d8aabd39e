package clib

import (
	"bufio"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// driftProgram compiles testdata/drift.c over a library.
func driftProgram(t *testing.T, dir string) string {
	t.Helper()
	return compile(t, "testdata/drift.c", "-L"+dir, "-lsnowdrift", "-lsnowfence", "-Wl,-rpath,"+dir)
}

// The C calls of snow-drift, with a number that the program gives and, at
// full length, with numbers from Redis, which have the original's keys.
func TestSnowDrift(t *testing.T) {
	t.Parallel()
	run(t, driftProgram(t, build(t)), "bare")
	if !testing.Short() {
		t.Run("redis", snowDriftOverRedis)
	}
}

func snowDriftOverRedis(t *testing.T) {
	s := servers.StartRedis(t)
	p := start(t, driftProgram(t, whole(t)), "redis", s.Address())
	lines := bufio.NewReader(p.stdout)
	worker, err := lines.ReadString('\n')
	if err != nil {
		p.wait(t)
		t.Fatal(err)
	}
	const script = "redis.call('SELECT', 2); return redis.call('GET', KEYS[1])"
	if got := s.Do(t, "EVAL", script, "1", "IdGen:WorkerId:Value:"+strings.TrimSpace(worker)); got != "Y" {
		t.Errorf("the key of worker %s is %q", worker, got)
	}
	must(t, p.stdin.Close())
	if rest, err := lines.ReadString('\n'); err != nil || rest != "ok\n" {
		t.Errorf("%q, %v", rest, err)
	}
	p.wait(t)
}
