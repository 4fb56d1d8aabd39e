package snowfence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stateRun is the life of one process on a state file: it makes IDs ahead of the clock
// until none are left, and is killed.
func stateRun(t *testing.T, path string, s *Scheme, clock *fakeClock) []ID {
	t.Helper()
	f := openState(t, path, s, 1)
	g, err := New(Config{Fence: f, Lead: 900, Time: clock.now, MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	ids := takeSome(g, 1<<20)
	kill(t, f)
	return ids
}

func takeFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func putFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever happened to a state file while nobody ran, its node makes nothing again: the
// file is refused, and begun anew in the way that the error says, it goes on above all
// IDs.
func TestStateFileIsBegunAnew(t *testing.T) {
	for _, c := range []struct {
		name string
		hurt func(t *testing.T, path string, copied []byte)
		says string
	}{
		{"an older copy", func(t *testing.T, path string, copied []byte) { putFile(t, path, copied) }, "it is an older copy: it is write 1, and the last one was write "},
		{"missing", func(t *testing.T, path string, _ []byte) { os.Remove(path) }, "it is missing, although it was written "},
		{"empty", func(t *testing.T, path string, _ []byte) { putFile(t, path, nil) }, "it is empty"},
		{"damaged", func(t *testing.T, path string, _ []byte) { putFile(t, path, append(takeFile(t, path), 'x')) }, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testScheme(t, "time=41,node=2,seq=2,epoch=1999-01-01,tick=1ms")
			path := filepath.Join(t.TempDir(), "node")
			clock := newFakeClock()
			f := openState(t, path, s, 1)
			if _, err := f.Grant(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			kill(t, f)
			copied := takeFile(t, path)
			var all []ID
			all = append(all, stateRun(t, path, s, clock)...)
			clock.advance(5 * time.Second)
			all = append(all, stateRun(t, path, s, clock)...)
			checkIncreasing(t, all)
			stopped, _ := clock.now()
			last := takeFile(t, path)
			c.hurt(t, path, copied)
			_, err := StateFile(path, s, 1)
			if !errors.Is(err, ErrStateFile) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(),
					"with a time after all their IDs (that of the stop, and their lead): ResetStateFile") {
				t.Fatalf("%v", err)
			}
			if err := ResetStateFile(path, s, 1, stopped.Add(900*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			f = openState(t, path, s, 1)
			g, err := New(Config{Fence: f, Lead: 900, Time: clock.now, MaxWait: -1})
			if err != nil {
				t.Fatal(err)
			}
			if id, err := g.TryNext(); err == nil {
				t.Errorf("%d before the time", id)
			}
			clock.advance(time.Second)
			checkIncreasing(t, append(all, take(t, g, 100)...))
			kill(t, f)
			putFile(t, path, last)
			if _, err := StateFile(path, s, 1); !errors.Is(err, ErrStateFile) {
				t.Errorf("the last file from before: %v", err)
			}
		})
	}
}

// A file that is good keeps what it says where that is later, and one of something else
// is not begun anew.
func TestResetStateFileKeepsWhatIsGood(t *testing.T) {
	s := testScheme(t, "twitter")
	path := filepath.Join(t.TempDir(), "node")
	at := func(tick int64) time.Time { return s.Layout().TimeOf(tick) }
	from := func() int64 {
		f := openState(t, path, s, 1)
		defer kill(t, f)
		return f.own.from
	}
	for _, c := range []struct{ after, from int64 }{{1000, 1001}, {2000, 2001}, {1500, 2001}, {-7, 2001}} {
		if err := ResetStateFile(path, s, 1, at(c.after)); err != nil || from() != c.from {
			t.Errorf("after tick %d it begins at %d, not %d: %v", c.after, from(), c.from, err)
		}
	}
	for _, err := range []error{
		ResetStateFile(path, s, 2, at(5000)),
		ResetStateFile(path, testScheme(t, "bwmarrin"), 1, at(5000)),
	} {
		if !errors.Is(err, ErrStateFile) || from() != 2001 {
			t.Errorf("another node or layout: %v; it begins at %d", err, from())
		}
	}
	if err := ResetStateFile(path, s, 1, s.Layout().EndOfLife()); !errors.Is(err, ErrLifetime) {
		t.Errorf("after the end: %v", err)
	}
	f := openState(t, path, s, 1)
	if err := ResetStateFile(path, s, 1, at(5000)); !errors.Is(err, ErrBound) {
		t.Errorf("while somebody uses it: %v", err)
	}
	kill(t, f)
}

// Under two secrets with one key number, different raw IDs become one.
func TestStateFileKnowsItsSecrets(t *testing.T) {
	const spec = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	a, b, c := GenerateSecret(), GenerateSecret(), GenerateSecret()
	try := func(path string, keys ...*Secret) error {
		t.Helper()
		f, err := StateFile(path, encryptedScheme(t, spec, keys...), 1)
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
		keys []*Secret
		ok   bool
	}{
		"from the first": {
			{[]*Secret{a}, true},
			{[]*Secret{c}, false},
			{[]*Secret{a, b}, true},
			{[]*Secret{a}, true}, // a process that is behind
			{[]*Secret{nil, b}, true},
			{[]*Secret{b}, false},
			{[]*Secret{a, c}, false},
			{[]*Secret{a, b, c}, true},
			{[]*Secret{c, b}, false},
		},
		"the first is gone": {
			{[]*Secret{nil, b}, true},
			{[]*Secret{a}, false}, // it may be another than what key 0 was
			{[]*Secret{c, b}, true},
			{[]*Secret{c}, false}, // still
			{[]*Secret{nil, c}, false},
			{[]*Secret{nil, nil, c}, true},
			{[]*Secret{nil, a, c}, false},
		},
	} {
		path := filepath.Join(t.TempDir(), "node")
		for i, step := range steps {
			if err := try(path, step.keys...); (err == nil) != step.ok ||
				err != nil && (!errors.Is(err, ErrKey) || !errors.Is(err, ErrStateFile)) {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
	}
	// Without a key field there is one secret for ever, and it is part of the fingerprint.
	path := filepath.Join(t.TempDir(), "node")
	if f, err := StateFile(path, encryptedScheme(t, "randflake", a), 1); err != nil {
		t.Error(err)
	} else if _, err := f.Grant(t.Context(), 0); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if _, err := StateFile(path, encryptedScheme(t, "randflake", b), 1); !errors.Is(err, ErrStateFile) ||
		!strings.Contains(err.Error(), "go on with its layout and secret") {
		t.Errorf("another secret: %v", err)
	}
}

func encryptedScheme(t *testing.T, spec string, keys ...*Secret) *Scheme {
	t.Helper()
	l, err := ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScheme(l, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The first version of the file did not note secrets. Where there can be several,
// somebody has to say that they are the same.
func TestStateFileOfTheFirstVersion(t *testing.T) {
	key := GenerateSecret()
	for _, c := range []struct {
		scheme *Scheme
		ok     bool
	}{
		{testScheme(t, "twitter"), true},
		{encryptedScheme(t, "randflake", key), true},
		{encryptedScheme(t, "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", key), false},
	} {
		path := filepath.Join(t.TempDir(), "node")
		putFile(t, path, fileState{first: true, layout: c.scheme.Fingerprint(), node: 1, until: 5000}.encode())
		f, err := StateFile(path, c.scheme, 1)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrStateFile) {
			t.Errorf("%s: %v", c.scheme.Layout(), err)
		}
		if err != nil {
			if err := ResetStateFile(path, c.scheme, 1, c.scheme.Layout().TimeOf(0)); err != nil {
				t.Error(err)
			}
			f = openState(t, path, c.scheme, 1)
		}
		if g, err := f.Grant(t.Context(), 0); err != nil || g.From != 5000 {
			t.Errorf("%s: %+v, %v", c.scheme.Layout(), g, err)
		}
		kill(t, f)
		kill(t, openState(t, path, c.scheme, 1))
	}
}

// A give-back that cannot be written: the next generator on the fence begins above what
// the first one used.
func TestStateFileReleaseThatFails(t *testing.T) {
	s := testScheme(t, "time=41,node=2,seq=6,epoch=1999-01-01,tick=1ms")
	path := filepath.Join(t.TempDir(), "node")
	clock := newFakeClock()
	f := openState(t, path, s, 1)
	first, err := New(Config{Fence: f, Lead: 800, Time: clock.now, MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	all := takeSome(first, 40_000)
	if err := os.Mkdir(path+".new", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err == nil {
		t.Error("closed although the file cannot be written")
	}
	os.Remove(path + ".new")
	second := newGenerator(t, Config{Fence: f, Lead: 800, Time: clock.now, MaxWait: -1})
	all = append(all, takeSome(second, 40_000)...)
	if err := first.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	before := len(all)
	for len(all) == before { // its next grant is written in the background
		clock.advance(3 * time.Second)
		all = append(all, takeSome(second, 40_000)...)
	}
	checkIncreasing(t, all)
}

// A generator that never waits begins all the same: its first grant has to be written.
func TestStateFileWithoutWaiting(t *testing.T) {
	s := testScheme(t, "twitter")
	clock := newFakeClock()
	f := openState(t, filepath.Join(t.TempDir(), "node"), s, 1)
	g := newGenerator(t, Config{Fence: f, Time: clock.now, MaxWait: -1})
	if _, err := g.Next(t.Context()); err != nil {
		t.Error(err)
	}
}
