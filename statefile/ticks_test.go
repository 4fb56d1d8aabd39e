package statefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence"
)

// grant asks a fence, which has to answer.
func grant(t *testing.T, f snowfence.Fence, after int64) snowfence.Grant {
	t.Helper()
	return must(f.Grant(t.Context(), after))
}

// A state file takes the first and the last node of a layout, and no other
// number.
func TestNodesOfTheLayout(t *testing.T) {
	s := testScheme("twitter")
	for _, node := range []int64{-1, 0, s.Nodes() - 1, s.Nodes()} {
		f, err := File(filepath.Join(t.TempDir(), "node"), s, node)
		if err == nil {
			kill(t, f)
		}
		if inside := node >= 0 && node < s.Nodes(); inside != (err == nil) {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// What a state file grants, and what stands in it afterwards.
func TestFileTicks(t *testing.T) {
	s := testScheme("twitter")
	path := filepath.Join(t.TempDir(), "node")
	f := openState(t, path, s, 3)
	check := func(g snowfence.Grant, from, until int64) {
		t.Helper()
		if g.From != from || g.Until != until {
			t.Errorf("granted [%d, %d), not [%d, %d)", g.From, g.Until, from, until)
		}
		if st, err := decodeState(must(os.ReadFile(path))); err != nil || st.until < g.Until {
			t.Errorf("granted to %d, and the file says %d (%v)", g.Until, st.until, err)
		}
	}
	release := func(used, from int64) {
		t.Helper()
		noError(t, f.Release(t.Context(), snowfence.Grant{}, used))
		if st, err := decodeState(must(os.ReadFile(path))); err != nil || st.until != from {
			t.Errorf("after %d was used the file says %d (%v), not %d", used, st.until, err, from)
		}
	}
	const window = 1000 // ticks of stateWindow
	check(grant(t, f, 0), 0, window+1)
	check(grant(t, f, window), 0, window+1)
	check(grant(t, f, window+1), 0, 2*window+2)
	release(1500, 1500)
	check(grant(t, f, 100), 1500, 1500+window)
	release(1400, 1500) // what was used before the grant stays used
	check(grant(t, f, 100), 1500, 1500+window)
	release(9999, 1500+window) // no program can have used more
	kill(t, f)
	f = openState(t, path, s, 3)
	check(grant(t, f, 100), 1500+window, 1500+2*window)
	last := s.MaxTick()
	check(grant(t, f, last-10), 1500+window, last+1)
	kill(t, f)
	wantErr(t, f.Close(), nil, "closed twice")
	if _, err := f.Grant(t.Context(), last); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed file: %v", err)
	}
	f = openState(t, path, s, 3)
	wantErr(t, errOf(f.Grant(t.Context(), last)), snowfence.ErrLifetime, "after the last tick was granted")
}

// With ticks longer than its window a state file grants one at a time.
func TestFileOfLongTicks(t *testing.T) {
	s := testScheme("time=31,node=10,seq=12,epoch=2025-01-01,tick=10s")
	path := filepath.Join(t.TempDir(), "node")
	f := openState(t, path, s, 3)
	grant(t, f, 7)
	kill(t, f)
	f = openState(t, path, s, 3)
	if g := grant(t, f, 2); g.From != 9 || g.Until != 10 {
		t.Errorf("granted %+v, not tick 9", g)
	}
}

// What keeps a state file from being opened or written is in the error, and
// nothing is granted.
func TestFileErrorsNameTheCause(t *testing.T) {
	s := testScheme("twitter")
	mkdir := func(path string) {
		t.Helper()
		noError(t, os.MkdirAll(path, 0o755))
	}
	for name, c := range map[string]struct {
		before func(path string)
		want   error
	}{
		"a file instead of a folder": {func(path string) {
			noError(t, os.WriteFile(filepath.Dir(path), nil, 0o644))
		}, syscall.ENOTDIR},
		"a folder instead of the file": {func(path string) { mkdir(path) }, syscall.EISDIR},
		"a folder instead of the lock": {func(path string) { mkdir(path + ".lock") }, syscall.EISDIR},
		"no folder":                    {func(string) {}, fs.ErrNotExist},
		"a second name": {func(path string) {
			mkdir(filepath.Dir(path))
			noError(t, errors.Join(os.WriteFile(path, nil, 0o644), os.Link(path, path+"2")))
		}, ErrUnusable},
		"a negative tick": {func(path string) {
			mkdir(filepath.Dir(path))
			bad := fileState{layout: s.Fingerprint(), node: 3, until: -1}.encode()
			noError(t, os.WriteFile(path, bad, 0o644))
		}, ErrUnusable},
	} {
		path := filepath.Join(t.TempDir(), "folder", "node")
		c.before(path)
		f, err := File(path, s, 3)
		if err == nil {
			kill(t, f)
		}
		wantErr(t, err, c.want, "%s", name)
	}
	for name, c := range map[string]struct {
		before func(path string)
		want   error
	}{
		"a folder instead of the new file": {func(path string) { mkdir(path + ".new") }, syscall.EISDIR},
		"a full disk": {func(path string) {
			noError(t, os.Symlink("/dev/full", path+".new"))
		}, syscall.ENOSPC},
		"a folder instead of the file": {func(path string) { mkdir(filepath.Join(path, "full")) }, fs.ErrExist},
		"no lock": {func(path string) {
			noError(t, os.Remove(path+".lock"))
		}, fs.ErrNotExist},
	} {
		path := filepath.Join(t.TempDir(), "node")
		f := openState(t, path, s, 3)
		c.before(path)
		wantErr(t, errOf(f.Grant(context.Background(), 5)), c.want, "%s: granted", name)
	}
}

// A state file can be begun anew up to the last tick but one, so that one
// is left.
func TestFileBegunAtTheEnd(t *testing.T) {
	s := testScheme("twitter")
	last := s.MaxTick()
	for _, left := range []int64{0, 1} {
		path := filepath.Join(t.TempDir(), "node")
		err := Reset(path, s, 3, s.Layout().TimeOf(last-left))
		if left == 0 {
			wantErr(t, err, snowfence.ErrLifetime, "begun after the last tick")
			continue
		}
		noError(t, err)
		if g := grant(t, openState(t, path, s, 3), last); g.From != last || g.Until != last+1 {
			t.Errorf("granted %+v, not the last tick", g)
		}
	}
}
