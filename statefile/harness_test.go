package statefile

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// fakeClock is a clock that a test moves; a step moves its wall time alone.
type fakeClock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{wall: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), mono: time.Hour}
}

func (c *fakeClock) now() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall, c.mono
}

func (c *fakeClock) move(wall, mono time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(wall), c.mono+mono
}

func (c *fakeClock) step(d time.Duration)    { c.move(d, 0) }
func (c *fakeClock) advance(d time.Duration) { c.move(d, d) }

func must[T any](v T, err error) T { return tests.Must(v, err) }

func testScheme(spec string, keys ...*snowfence.Secret) *snowfence.Scheme {
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l, keys...))
}

func newGenerator(t testing.TB, c snowfence.Config) *snowfence.Generator {
	t.Helper()
	g := must(snowfence.New(c))
	t.Cleanup(func() {
		noError(t, g.Close())
	})
	return g
}

// takeSome returns up to n IDs from TryNext.
func takeSome(g *snowfence.Generator, n int) (ids []snowfence.ID) {
	for range n {
		if id, err := g.TryNext(); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// take returns n IDs from TryNext, and fails the test where there are
// fewer.
func take(t testing.TB, g *snowfence.Generator, n int) []snowfence.ID {
	t.Helper()
	ids := takeSome(g, n)
	if len(ids) < n {
		_, err := g.TryNext()
		t.Fatalf("%d IDs, want %d: %v", len(ids), n, err)
	}
	return ids
}

// checkIncreasing fails where an ID is not above the one before.
func checkIncreasing(t testing.TB, ids []snowfence.ID) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("ID %d is %d, not above %d before it", i, ids[i], ids[i-1])
		}
	}
}

// checkUnique fails where an ID is there twice. It sorts ids.
func checkUnique(t testing.TB, ids []snowfence.ID) {
	t.Helper()
	slices.Sort(ids)
	checkIncreasing(t, ids)
}

// named gives a state a name, writes the lock file with that name, and
// returns the content of the state file.
func named(t *testing.T, path string, s fileState) []byte {
	t.Helper()
	s.name = strings.Repeat("N", nameLen)
	lock, err := os.Create(path + ".lock")
	if err == nil {
		err = errors.Join(writeName(lock, s.name), lock.Close())
	}
	noError(t, err)
	return s.encode()
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
