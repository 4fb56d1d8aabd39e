package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
)

func forget(u *share) {
	inProcess.mu.Lock()
	defer inProcess.mu.Unlock()
	for key, list := range inProcess.shares {
		for i, v := range list {
			if v == u {
				inProcess.shares[key] = append(list[:i:i], list[i+1:]...)
				break
			}
		}
	}
}

// numbersIn fails unless all IDs have numbers from first to last.
func numbersIn(t testing.TB, s *snowfence.Scheme, ids []snowfence.ID, first, last int64) {
	t.Helper()
	if len(ids) == 0 {
		t.Error("no IDs")
	}
	for _, id := range ids {
		if p := must(s.Decode(id)); p.Sequence < first || p.Sequence > last {
			t.Fatalf("%d has the number %d; the slice is %d to %d", id, p.Sequence, first, last)
		}
	}
}

// One file can serve several generators at once, each with a slice.
func TestSlicesOfOneFile(t *testing.T) {
	s := testScheme("time=40,node=3,seq=6,epoch=1998-01-01")
	path := filepath.Join(t.TempDir(), "node")
	f := openState(t, path, s, 3)
	clock := newFakeClock()
	a := newGenerator(t, snowfence.Config{Fence: must(f.SequencePart(0, 15)), Time: clock.Now, Lead: 3000, MaxWait: -1})
	high := must(f.SequencePart(16, 40))
	b := newGenerator(t, snowfence.Config{Fence: high, Time: clock.Now, Lead: 3000, MaxWait: -1})
	for _, n := range []numbers{{15, 15}, {0, 1}, {0, 63}, {40, 41}, {10, 20}} {
		if g, err := snowfence.New(snowfence.Config{Fence: must(f.SequencePart(n.first, n.last))}); !errors.Is(err,
			snowfence.ErrBound) {
			t.Errorf("slice %v beside 0-15 and 16-40: %v, %v", n, g, err)
		}
	}
	wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: f})), snowfence.ErrBound, "all numbers beside slices")
	all := append(takeSome(a, 5000), takeSome(b, 9000)...)
	// The first to close has used less than the other: it frees nothing of
	// that one's ticks.
	noError(t, a.Close())
	st, err := decodeState(must(os.ReadFile(path)))
	if err != nil || listNumbers(st.slices) != "0-15,16-40" || st.until <= highestTick(s, all) {
		t.Errorf("the file says %q, until %d, %v", listNumbers(st.slices), st.until, err)
	}
	c := newGenerator(t, snowfence.Config{Fence: must(f.SequencePart(0, 15)), Time: clock.Now, Lead: 3000, MaxWait: -1})
	all = append(all, takeSome(c, 5000)...)
	all = append(all, takeSome(b, 9000)...)
	for _, g := range []*snowfence.Generator{b, c} {
		noError(t, g.Close())
	}
	if st, err = decodeState(must(os.ReadFile(path))); err != nil || st.until != highestTick(s, all)+1 {
		t.Errorf("used up to tick %d, and the file says %d, %v", highestTick(s, all), st.until, err)
	}
	d := newGenerator(t, snowfence.Config{Fence: must(f.SequencePart(0, 63)), Time: clock.Now, Lead: 9000, MaxWait: -1})
	checkUnique(t, append(all, takeSome(d, 5000)...))
}

func highestTick(s *snowfence.Scheme, ids []snowfence.ID) (top int64) {
	for _, id := range ids {
		top = max(top, must(s.Decode(id)).Tick)
	}
	return top
}

// Whatever slices a file is used with, one after the other or at once, over
// crashes and clocks that step, its node repeats nothing.
func TestSlicesOfAFileNeverRepeat(t *testing.T) {
	s := testScheme("time=40,node=3,seq=3,epoch=1997-01-01")
	dir := t.TempDir()
	draw.Check(t, func(t *draw.T) {
		path := filepath.Join(dir, "node")
		for _, name := range []string{path, path + ".lock"} {
			if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		clock := newFakeClock()
		var f *Fence
		var used []*snowfence.Generator
		seen := map[snowfence.ID]bool{}
		open := func() {
			if f == nil {
				f = must(File(path, s, 1))
			}
		}
		actions := []func(){
			// Starts.
			func() {
				first := t.Range(0, 7)
				fence := must(f.SequencePart(first, t.Range(max(first, 1), 7)))
				if t.Int(0, 5) == 0 {
					fence = f
				}
				g, err := snowfence.New(snowfence.Config{Fence: fence, Time: clock.Now, Lead: 2000, MaxWait: -1})
				if err == nil {
					used = append(used, g)
				}
			},
			// Takes.
			func() {
				if len(used) == 0 {
					return
				}
				g := draw.One(t, used)
				for _, id := range takeSome(g, t.Int(1, 3000)) {
					if seen[id] {
						t.Fatalf("%d twice", id)
					}
					seen[id] = true
				}
			},
			// Closes.
			func() {
				if len(used) == 0 {
					return
				}
				i := t.Int(0, len(used)-1)
				noError(t, used[i].Close())
				used = append(used[:i], used[i+1:]...)
			},
			// Crashes.
			func() {
				for _, u := range f.bound {
					forget(u)
				}
				noError(t, f.Close())
				f, used = nil, nil
			},
			// Steps the clock.
			func() {
				clock.Step(time.Duration(t.Int(-500, 2000)) * time.Millisecond)
			},
		}
		for range 30 {
			open()
			draw.One(t, actions)()
		}
		open()
		for _, u := range f.bound {
			forget(u)
		}
		noError(t, f.Close())
	})
}

// A file remembers that it is of a slice, because other machines have the
// others.
func TestAFileKeepsItsSlice(t *testing.T) {
	s := testScheme("time=40,node=3,seq=6,epoch=1996-01-01")
	path := filepath.Join(t.TempDir(), "node")
	clock := newFakeClock()
	run := func(n numbers, lead int64) []snowfence.ID {
		t.Helper()
		f := openState(t, path, s, 3)
		defer kill(t, f)
		g := newGenerator(t,
			snowfence.Config{Fence: must(f.SequencePart(n.first, n.last)), Time: clock.Now, Lead: lead, MaxWait: -1})
		ids := takeSome(g, 2000)
		numbersIn(t, s, ids, n.first, n.last)
		noError(t, g.Close())
		return ids
	}
	all := run(numbers{32, 63}, 1000)
	f := openState(t, path, s, 3)
	_, err := snowfence.New(snowfence.Config{Fence: f})
	if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "it is of the slice 32-63,") ||
		!strings.Contains(err.Error(), "or take the slice 0-63, the whole sequence") {
		t.Errorf("without its slice: %v", err)
	}
	fails(t, errOf(f.Grant(t.Context(), 0)), "without its slice: granted")
	if g, ok := f.Held(0); ok {
		t.Errorf("without its slice: holds %+v", g)
	}
	kill(t, f)
	noError(t, Reset(path, s, 3, clock.Wall))
	f = openState(t, path, s, 3)
	wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: f})), ErrUnusable, "begun anew, a good file keeps its slice")
	kill(t, f)
	clock.Advance(100 * time.Millisecond)
	// Another slice starts above all that the file granted, and so does the
	// first one again.
	for _, n := range []numbers{{40, 50}, {32, 63}, {0, 63}} {
		ids := run(n, 3000)
		if low, top := must(s.Decode(ids[0])).Tick, highestTick(s, all); low <= top {
			t.Errorf("slice %v starts at tick %d, and tick %d was used", n, low, top)
		}
		all = append(all, ids...)
	}
	checkUnique(t, all)
}

// Two files of one node in one process: neither sees the other's slice.
func TestSlicesOfOneProcess(t *testing.T) {
	s := testScheme("time=40,node=3,seq=6,epoch=1995-01-01")
	other := testScheme("time=40,node=3,seq=6,epoch=1995-01-02")
	fence := func(s *snowfence.Scheme, node int64, n numbers) snowfence.Fence {
		f := openState(t, filepath.Join(t.TempDir(), "node"), s, node)
		if n == (numbers{}) {
			return f
		}
		return must(f.SequencePart(n.first, n.last))
	}
	for name, c := range map[string]struct {
		a, b  snowfence.Fence
		other bool // both can be used
	}{
		"one number":             {fence(s, 1, numbers{0, 31}), fence(s, 1, numbers{31, 63}), false},
		"its last is the first":  {fence(s, 1, numbers{31, 63}), fence(s, 1, numbers{0, 31}), false},
		"one inside the other":   {fence(s, 1, numbers{0, 31}), fence(s, 1, numbers{5, 6}), false},
		"all numbers":            {fence(s, 1, numbers{0, 31}), fence(s, 1, numbers{}), false},
		"a slice after them all": {fence(s, 1, numbers{}), fence(s, 1, numbers{0, 31}), false},
		"apart":                  {fence(s, 1, numbers{0, 31}), fence(s, 1, numbers{32, 63}), true},
		"another node":           {fence(s, 1, numbers{0, 31}), fence(s, 2, numbers{0, 31}), true},
		"another layout":         {fence(s, 1, numbers{0, 31}), fence(other, 1, numbers{0, 31}), true},
		"no slices":              {fence(s, 1, numbers{}), fence(s, 1, numbers{}), true},
	} {
		a := must(snowfence.New(snowfence.Config{Fence: c.a}))
		b, err := snowfence.New(snowfence.Config{Fence: c.b})
		if c.other != (err == nil) || err != nil && !errors.Is(err, snowfence.ErrBound) {
			t.Errorf("%s: %v", name, err)
		}
		for _, g := range []*snowfence.Generator{a, b} {
			if g != nil && g.Close() != nil {
				t.Error(name)
			}
		}
		if b, err := snowfence.New(snowfence.Config{Fence: c.b}); err != nil {
			t.Errorf("%s, when the first is closed: %v", name, err)
		} else if b.Close() != nil {
			t.Error(name)
		}
	}
	inProcess.mu.Lock()
	defer inProcess.mu.Unlock()
	for key, list := range inProcess.shares {
		if strings.Contains(key, "epoch=1995-01-0") {
			t.Errorf("%s: %v is remembered, and not used", key, list)
		}
	}
}

// Slices that are none.
func TestSliceIsRefused(t *testing.T) {
	for _, c := range []struct {
		layout      string
		first, last int64
		says        string
	}{
		{"drift", 4, 31, "slice 4 to 31: the layout has sequence numbers 5 to 63"},
		{"drift", 5, 64, "slice 5 to 64"},
		{"drift", 6, 5, "its last number is below its first"},
		{"twitter", 0, 0, "take 0 to 1"},
	} {
		f := openState(t, filepath.Join(t.TempDir(), "node"), testScheme(c.layout), 1)
		_, err := f.SequencePart(c.first, c.last)
		tests.Says(t, err, c.says, "%s %d to %d", c.layout, c.first, c.last)
	}
	// The whole sequence is a slice too, even of one number.
	one := testScheme("time=40,node=3,epoch=1995-01-03")
	fence := must(openState(t, filepath.Join(t.TempDir(), "node"), one, 1).SequencePart(0, 0))
	numbersIn(t, one, takeSome(newGenerator(t, snowfence.Config{Fence: fence, Time: newFakeClock().Now}), 1), 0, 0)
	// A fence that does not bind cannot know what others use, and used.
	f := openState(t, filepath.Join(t.TempDir(), "node"), testScheme("twitter"), 1)
	unbind := must(must(f.SequencePart(0, 31)).(snowfence.Binder).Bind(nil))
	wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: bare{f}})), snowfence.ErrBound, "the file beside a slice")
	unbind()
	grant(t, f, 5)
	part := must(f.SequencePart(0, 31))
	if g, ok := part.Held(0); ok {
		t.Errorf("an unbound slice has %+v", g)
	}
	tests.Says(t, errOf(snowfence.New(snowfence.Config{Fence: bare{part}})), "pass Bind on", "an unbound slice")
}

// bare hides that a fence binds.
type bare struct{ snowfence.Fence }
