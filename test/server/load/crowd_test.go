package load

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

var (
	long  = flag.Bool("long", false, "TestCrowd with 10,000 idle connections and 1,000 slow clients")
	table = flag.String("table", "", "write what TestCrowd saw to this file, as a table in Markdown")
)

// size is how large a crowd is.
type size struct {
	idle   int           // connections, half of them of each wire
	slow   int           // clients
	rounds int           // of each attacker, at least
	attack time.Duration // at least
	hoard  bool          // slow clients that take nothing of one large answer too: the server gives those half a minute
}

// TestCrowd puts idle connections, slow clients, damaged frames and
// oversized requests of one caller on one server, beside ordinary clients
// of another. Those get every ID they ask for, and none twice; the server
// lets go of the slow ones and refuses the rest; and when all have gone
// there are as many goroutines and as much memory as before.
func TestCrowd(t *testing.T) {
	n := size{idle: 600, slow: 60, rounds: 150}
	if *long {
		n = size{idle: 10_000, slow: 1000, rounds: 1000, attack: 30 * time.Second, hoard: true}
	}
	s := startCrowded(t)
	r := &record{server: s}
	good := startOrdinary(t, s)
	r.note("ordinary clients alone", good.rest(t, n))

	before := s.usage(t)
	idle := openIdle(t, s, n.idle)
	full := r.note("idle connections, half of each wire", good.rest(t, n))
	if each := (full.memory - before.memory) / int64(n.idle); each > 64<<10 {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	grow(t, idle)
	r.note("after a pipeline of 64 kB on each connection of the Redis protocol", good.rest(t, n))

	slow := startSlow(t, s, n)
	phase := good.mark()
	slow.allCutOff(t)
	r.note("slow clients, of "+slow.kinds(), good.since(t, phase))
	idle.stillServed(t)

	phase = good.mark()
	bad := attack(t, s, n)
	r.note("damaged and oversized requests at full speed, "+bad, good.since(t, phase))
	idle.stillServed(t)

	idle.close()
	s.calm(t, before, n.idle+n.slow)
	r.note("all of them gone", good.rest(t, n))
	good.stop(t)
	s.Stop(t, syscall.SIGTERM)
	log, err := os.ReadFile(s.Log)
	must(t, err)
	for _, word := range []string{"panic", "goroutine ", "fatal error", "DATA RACE"} {
		if i := strings.Index(string(log), word); i >= 0 {
			t.Errorf("the server wrote: %.2000s", log[i:])
		}
	}
	if text := r.table(); *table == "" {
		t.Log("\n" + text)
	} else if err := os.WriteFile(*table, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
}

// crowded is a server in a process of its own.
type crowded struct {
	*servers.Process
	http, resp, admin string
	t                 testing.TB
}

// startCrowded starts one on ports that it takes itself. A lease that lasts
// and a long wait are for machines that have other things to do.
func startCrowded(t *testing.T) *crowded {
	t.Helper()
	tokens := t.TempDir() + "/tokens.yaml"
	text := "tokens:\n"
	for _, name := range []string{crowdCaller, ordinaryCaller} {
		text += fmt.Sprintf("- {name: %s, sha256: %x, verbs: [ids, read, lease, manage]}\n",
			name, sha256.Sum256([]byte(name)))
	}
	must(t, os.WriteFile(tokens, []byte(text), 0o600))
	s := &crowded{t: t, Process: servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
		"serve", "--store", "sqlite:" + t.TempDir() + "/ids.db", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--pprof", "--tokens", tokens, "--slow", patienceWithSlow.String(), "--ttl", "5m", "--max-wait", "30s",
	}, []string{"HOME=" + t.TempDir()})}
	s.Ready(t, func() error { return s.addresses() })
	return s
}

// patienceWithSlow is how long the server waits for slow clients.
const patienceWithSlow = 2 * time.Second
