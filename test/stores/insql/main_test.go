package insql

import (
	"context"
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
	"github.com/snowfence/snowfence/test/harness/servers"
)

var long = flag.Bool("long", false, "a million IDs in each database, and all mutants of the texts")

// node is the node of the databases in these tests.
const node = 5

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// noFlush lets MariaDB wait for no disk. A kill of its process loses
// nothing of what was written.
var noFlush = []string{"--innodb-flush-method=nosync", "--debug-no-sync"}

// program runs snowfence, which must not fail, and returns what it prints.
func program(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(servers.Program(t, servers.Snowfence), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("snowfence %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func schemeOf(spec string) (*snowfence.Scheme, error) {
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return nil, err
	}
	return snowfence.NewScheme(l)
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
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := program(t, "audit", path, "--layout", layout); !strings.Contains(out, "duplicates  none\n") {
		t.Errorf("the audit of %d IDs:\n%s", len(l.ids), out)
	}
}

// generate makes n IDs of a node with the library.
func generate(l *ledger, node int64, n int) error {
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return err
	}
	g, err := snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, node), MaxWait: time.Minute})
	if err != nil {
		return err
	}
	defer g.Close()
	for n > 0 {
		got := make([]snowfence.ID, min(n, 1000))
		k, err := g.Fill(context.Background(), got)
		if err != nil {
			return err
		}
		l.add(got[:k]...)
		n -= k
	}
	return nil
}
