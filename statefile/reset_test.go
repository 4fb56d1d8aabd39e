package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// stateRun is the life of one process on a state file: it makes IDs ahead
// of the clock until none are left, and is killed.
func stateRun(t *testing.T, path string, s *snowfence.Scheme, clock *tests.Clock) []snowfence.ID {
	t.Helper()
	f := openState(t, path, s, 1)
	g := must(snowfence.New(snowfence.Config{Fence: f, Lead: 900, Time: clock.Now, MaxWait: -1}))
	ids := takeSome(g, 1<<20)
	kill(t, f)
	return ids
}

func putFile(t *testing.T, path string, data []byte) {
	t.Helper()
	noError(t, os.WriteFile(path, data, 0o644))
}

// Whatever happened to a state file while no program ran, its node makes
// nothing again: the file is refused, and begun anew in the way that the
// error says, it goes on above all IDs.
func TestFileIsBegunAnew(t *testing.T) {
	for _, c := range []struct {
		name string
		hurt func(t *testing.T, path string, copied []byte)
		says string
	}{
		{"an older copy", func(t *testing.T, path string, copied []byte) { putFile(t, path, copied) }, "it is an older copy: it is write 1, and the last one was write "},
		{"missing", func(t *testing.T, path string, _ []byte) { os.Remove(path) }, "it is missing, although it was written "},
		{"empty", func(t *testing.T, path string, _ []byte) { putFile(t, path, nil) }, "it is empty"},
		{"damaged", func(t *testing.T, path string, _ []byte) { putFile(t, path, append(must(os.ReadFile(path)), 'x')) }, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testScheme("time=41,node=2,seq=2,epoch=1999-01-01,tick=1ms")
			path := filepath.Join(t.TempDir(), "node")
			clock := newFakeClock()
			f := openState(t, path, s, 1)
			must(f.Grant(t.Context(), 0))
			kill(t, f)
			copied := must(os.ReadFile(path))
			var all []snowfence.ID
			all = append(all, stateRun(t, path, s, clock)...)
			clock.Advance(5 * time.Second)
			all = append(all, stateRun(t, path, s, clock)...)
			checkIncreasing(t, all)
			stopped, _ := clock.Now()
			last := must(os.ReadFile(path))
			c.hurt(t, path, copied)
			_, err := File(path, s, 1)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(),
					"with a time after all their IDs (when they stopped, plus their lead, and how far a clock was ahead): statefile.Reset") {
				t.Fatalf("%v", err)
			}
			noError(t, Reset(path, s, 1, stopped.Add(900*time.Millisecond)))
			f = openState(t, path, s, 1)
			g := must(snowfence.New(snowfence.Config{Fence: f, Lead: 900, Time: clock.Now, MaxWait: -1}))
			if id, err := g.TryNext(); err == nil {
				t.Errorf("%d before the time", id)
			}
			clock.Advance(time.Second)
			checkIncreasing(t, append(all, take(t, g, 100)...))
			kill(t, f)
			putFile(t, path, last)
			wantErr(t, errOf(File(path, s, 1)), ErrUnusable, "the last file from before")
		})
	}
}

// A file that is good keeps what it says where that is later, and one of
// something else is not begun anew.
func TestResetKeepsWhatIsGood(t *testing.T) {
	s := testScheme("twitter")
	path := filepath.Join(t.TempDir(), "node")
	at := func(tick int64) time.Time { return s.Layout().TimeOf(tick) }
	from := func() int64 {
		f := openState(t, path, s, 1)
		defer kill(t, f)
		return f.ownShare.from
	}
	for _, c := range []struct{ after, from int64 }{{1000, 1001}, {2000, 2001}, {1500, 2001}, {-7, 2001}} {
		if err := Reset(path, s, 1, at(c.after)); err != nil || from() != c.from {
			t.Errorf("after tick %d it begins at %d, not %d: %v", c.after, from(), c.from, err)
		}
	}
	for _, err := range []error{
		Reset(path, s, 2, at(5000)),
		Reset(path, testScheme("bwmarrin"), 1, at(5000)),
	} {
		if !errors.Is(err, ErrUnusable) || from() != 2001 {
			t.Errorf("another node or layout: %v; it begins at %d", err, from())
		}
	}
	wantErr(t, Reset(path, s, 1, s.Layout().EndOfLife()), snowfence.ErrLifetime, "after the end")
	f := openState(t, path, s, 1)
	wantErr(t, Reset(path, s, 1, at(5000)), snowfence.ErrBound, "while another program uses it")
	kill(t, f)
}

// Under two secrets with one key number, different raw IDs become one.
func TestFileKnowsItsSecrets(t *testing.T) {
	const spec = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	a, b, c := snowfence.GenerateSecret(), snowfence.GenerateSecret(), snowfence.GenerateSecret()
	try := func(path string, keys ...*snowfence.Secret) error {
		t.Helper()
		f, err := File(path, testScheme(spec, keys...), 1)
		if err != nil {
			return err
		}
		defer f.Close()
		g, err := f.Grant(t.Context(), 0) // the first IDs
		if err != nil || g.Until < 1 {
			t.Errorf("%+v, %v", g, err)
		}
		return nil
	}
	for name, steps := range map[string][]struct {
		keys []*snowfence.Secret
		ok   bool
	}{
		"from the first": {
			{[]*snowfence.Secret{a}, true},
			{[]*snowfence.Secret{c}, false},
			{[]*snowfence.Secret{a, b}, true},
			{[]*snowfence.Secret{a}, true}, // a process that is behind
			{[]*snowfence.Secret{nil, b}, true},
			{[]*snowfence.Secret{b}, false},
			{[]*snowfence.Secret{a, c}, false},
			{[]*snowfence.Secret{a, b, c}, true},
			{[]*snowfence.Secret{c, b}, false},
		},
		"the first is gone": {
			{[]*snowfence.Secret{nil, b}, true},
			{[]*snowfence.Secret{a}, false}, // it may be another than what key 0 was
			{[]*snowfence.Secret{c, b}, true},
			{[]*snowfence.Secret{c}, false}, // still
			{[]*snowfence.Secret{nil, c}, false},
			{[]*snowfence.Secret{nil, nil, c}, true},
			{[]*snowfence.Secret{nil, a, c}, false},
		},
	} {
		path := filepath.Join(t.TempDir(), "node")
		for i, step := range steps {
			if err := try(path, step.keys...); (err == nil) != step.ok ||
				err != nil && (!errors.Is(err, snowfence.ErrKey) || !errors.Is(err, ErrUnusable)) {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
	}
	// Without a key field there is one secret for ever, and it is part of
	// the fingerprint.
	path := filepath.Join(t.TempDir(), "node")
	if f, err := File(path, testScheme("randflake", a), 1); err != nil {
		t.Error(err)
	} else if _, err := f.Grant(t.Context(), 0); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if _, err := File(path, testScheme("randflake", b), 1); !errors.Is(err, ErrUnusable) ||
		!strings.Contains(err.Error(), "go on with its layout and secret") {
		t.Errorf("another secret: %v", err)
	}
}

// A give-back that cannot be written: the next generator on the fence
// begins above what the first one used.
func TestFileReleaseThatFails(t *testing.T) {
	s := testScheme("time=41,node=2,seq=6,epoch=1999-01-01,tick=1ms")
	path := filepath.Join(t.TempDir(), "node")
	clock := newFakeClock()
	f := openState(t, path, s, 1)
	first := must(snowfence.New(snowfence.Config{Fence: f, Lead: 800, Time: clock.Now, MaxWait: -1}))
	all := takeSome(first, 40_000)
	noError(t, os.Mkdir(path+".new", 0o755))
	fails(t, first.Close(), "closed although the file cannot be written")
	os.Remove(path + ".new")
	// The write may have reached the disk all the same, so only the next
	// one makes ticks usable.
	if gr, ok := f.Held(-1); ok {
		t.Errorf("%+v is granted, and the file may say less", gr)
	}
	second := newGenerator(t, snowfence.Config{Fence: f, Lead: 800, Time: clock.Now, MaxWait: -1})
	all = append(all, takeSome(second, 40_000)...)
	noError(t, first.Shutdown(t.Context()))
	before := len(all)
	for len(all) == before { // its next grant is written in the background
		clock.Advance(3 * time.Second)
		all = append(all, takeSome(second, 40_000)...)
	}
	checkIncreasing(t, all)
}
