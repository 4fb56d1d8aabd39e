package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// copiedFence has the generator see the machine that a test resumes.
type copiedFence struct {
	*Fence
	counter *atomic.Uint64
}

func (f copiedFence) World() world.World { return copiedWorld{world.Real(), f.counter} }

type copiedWorld struct {
	world.World
	counter *atomic.Uint64
}

func (w copiedWorld) Machine() world.Machine { return world.At(w.counter) }

// A machine that was resumed from a snapshot makes no ID with its state
// file any more, gives nothing back, and no later process takes the file:
// the copy of the machine may have the same one.
func TestFileOnACopiedMachine(t *testing.T) {
	s := testScheme("twitter")
	for name, end := range map[string]func(g *snowfence.Generator) error{
		"next":  func(g *snowfence.Generator) error { _, err := g.Next(t.Context()); return err },
		"close": (*snowfence.Generator).Close,
	} {
		path := filepath.Join(t.TempDir(), "node")
		f, counter := openState(t, path, s, 3), new(atomic.Uint64)
		f.machine = world.At(counter)
		g := must(snowfence.New(snowfence.Config{Fence: copiedFence{f, counter}}))
		must(g.Next(t.Context()))
		before := must(os.ReadFile(path))
		counter.Add(1)
		if grant, ok := f.Held(0); ok {
			t.Errorf("%s: %+v is held", name, grant)
		}
		for range 2 { // another try ends as the first one
			err := end(g)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "resumed from a snapshot") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := must(os.ReadFile(path + ".copied")); string(after) != string(before) {
			t.Errorf("%s: the file is %q, and was %q", name, after, before)
		}
		kill(t, f)
		wantErr(t, errOf(File(path, s, 3)), ErrUnusable, "%s: a later process", name)
	}
}
