package insql

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

var long = flag.Bool("long", false, "a million IDs in each database, and all mutants of the texts")

// node is the node of the databases in these tests.
const node = 5

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// noFlush lets MariaDB wait for no disk. A kill of its process loses
// nothing of what was written.
var noFlush = []string{"--innodb-flush-method=nosync", "--debug-no-sync"}

// A printer prints a text with further flags.
type printer func(t testing.TB, flags ...string) string

// printing returns the printer of "snowfence sql" with some flags.
func printing(flags ...string) printer {
	return func(t testing.TB, more ...string) string {
		return program(t, slices.Concat([]string{"sql"}, flags, more)...)
	}
}

// textOf prints the text for the key of a table orders.
func textOf(dialect string) printer {
	return printing("--dialect", dialect, "--node", fmt.Sprint(node), "--table", "orders.id")
}

// program runs snowfence, which must not fail, and returns what it prints.
func program(t testing.TB, args ...string) string {
	t.Helper()
	return tests.Run(t, exec.Command(servers.Program(t, servers.Snowfence), args...))
}

// ledger has every ID that a client saw. It is safe for concurrent use.
type ledger struct {
	mu  sync.Mutex
	ids []snowfence.ID
}

func (l *ledger) add(ids ...snowfence.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, ids...)
}

func (l *ledger) highest() snowfence.ID { return slices.Max(l.ids) }

// repeated returns the first ID that a client saw twice.
func (l *ledger) repeated() error {
	sorted := slices.Sorted(slices.Values(l.ids))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("ID %d twice, of %d", sorted[i], len(sorted))
		}
	}
	return nil
}

// audit runs the program over all IDs, and fails the test if one came
// twice.
func (l *ledger) audit(t testing.TB, layout string) {
	t.Helper()
	var b strings.Builder
	for _, id := range l.ids {
		fmt.Fprintln(&b, int64(id))
	}
	path := filepath.Join(t.TempDir(), "ids.txt")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	if out := program(t, "audit", path, "--layout", layout); !strings.Contains(out, "duplicates  none\n") {
		t.Errorf("the audit of %d IDs:\n%s", len(l.ids), out)
	}
}

// generate makes n IDs of a node with the library.
func generate(t testing.TB, l *ledger, node int64, n int) error {
	g, err := snowfence.New(snowfence.Config{
		Fence: snowfence.Unguarded(fleet.Scheme(t, "snowfence"), node), MaxWait: time.Minute,
	})
	if err != nil {
		return err
	}
	got := make([]snowfence.ID, 1000)
	for k := 0; n > 0 && err == nil; n -= k {
		k, err = g.Fill(t.Context(), got[:min(n, len(got))])
		l.add(got[:k]...)
	}
	return errors.Join(err, g.Close())
}

// insqlCrowd makes IDs on sixteen connections beside a Go program on other
// nodes, and audits all that a client saw.
func insqlCrowd(b base) {
	total := 4_000
	if *long {
		total = 1_000_000
	}
	var l ledger
	began := time.Now()
	beside := make(chan error, 2)
	for n := range int64(2) {
		go func() { beside <- generate(b, &l, node+1+n, total/8) }()
	}
	b.crowd(&l, 16, total*3/4/16)
	b.must(<-beside, <-beside)
	l.audit(b, "snowfence")
	s := fleet.Scheme(b, "snowfence")
	c := b.session()
	defer c.end()
	seen := map[snowfence.ID]bool{}
	for i, id := range l.ids {
		p, err := s.Decode(id)
		// A second ahead is the lead, one before is the clock of the test,
		// which is another one.
		if err != nil || p.Node < node || p.Node > node+2 || p.Time.Before(began.Add(-time.Second)) ||
			p.Time.After(time.Now().Add(2*time.Second)) {
			b.Fatalf("%d is %+v: %v", id, p, err)
		}
		seen[id] = true
		if i >= len(l.ids)-500 {
			c.decodes(s, id)
		}
	}
	for _, id := range c.ids("SELECT id FROM orders") {
		if !seen[id] {
			b.Fatalf("no client saw %d, which is in the table", id)
		}
	}
}
