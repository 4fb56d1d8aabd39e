package statefile

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// newFakeClock returns a clock that a test moves.
var newFakeClock = tests.NewClock

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

var (
	checkIncreasing = tests.Increasing[snowfence.ID]
	checkUnique     = tests.Unique[snowfence.ID] // sorts them
)

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
