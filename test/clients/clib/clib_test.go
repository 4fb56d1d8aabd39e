package clib

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"

	_ "modernc.org/sqlite"
)

// idsIn reads IDs of 8 bytes each.
func idsIn(data []byte) []int64 {
	ids := make([]int64, 0, len(data)/8)
	for ; len(data) >= 8; data = data[8:] {
		ids = append(ids, int64(binary.NativeEndian.Uint64(data)))
	}
	return ids
}

// unique fails if an ID is there twice, or if there are fewer than least.
func unique(t *testing.T, least int, lists ...[]int64) {
	t.Helper()
	all := slices.Concat(lists...)
	if len(all) < least {
		t.Errorf("%d IDs, want at least %d", len(all), least)
	}
	tests.Unique(t, all)
}

// newStore returns the URL of a new SQLite file, and the store in it.
func newStore(t *testing.T) (string, store.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ids.db")
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	must(t, err)
	t.Cleanup(func() { db.Close() })
	st, err := sqlstore.New(db, sqlstore.SQLite())
	must(t, err)
	return "sqlite:" + path, st
}

// Scenes without a store of their own: handles that are NULL, foreign,
// closed, closed twice or of the other kind are a status; a process is
// forked in every way while its rings run, and the child gets nothing, also
// from the ring of its own thread, but keeps locks; when close has
// returned, no ring gives out an ID; threads of Go block the program's
// signals; threads have small stacks. At full length they run over the
// archive too, which starts with the program.
func TestScenes(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"shared": check(t)}
	if !testing.Short() {
		dir, err := lib("archive", tags)
		must(t, err)
		kinds["archive"] = compile(t, "testdata/check.c", filepath.Join(dir, "libsnowfence.a"), "-lpthread", "-ldl",
			"-lresolv")
		run(t, kinds["archive"], "early", t.TempDir())
	}
	for kind, path := range kinds {
		scenes := []string{"handles", "fields", "forks", "heirs", "closes"}
		if kind == "shared" {
			scenes = append(scenes, "masks")
		}
		for _, scene := range scenes {
			t.Run(kind+"/"+scene, func(t *testing.T) {
				t.Parallel()
				run(t, path, scene, t.TempDir())
			})
		}
		t.Run(kind+"/stacks", func(t *testing.T) {
			t.Parallel()
			run(t, path, "stacks", "65536")
		})
	}
}

// Copies of the library in one process have handles of their own, or are
// refused.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir, same, other := build(t), t.TempDir(), t.TempDir()
	copyTo := func(to string, names ...string) {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(to, name), data, 0o700))
		}
	}
	const shim, part = "libsnowfence.so.1", "libsnowfence-go.so"
	copyTo(same, shim)
	copyTo(other, shim, part)
	must(t, os.Symlink(filepath.Join(dir, part), filepath.Join(same, part)))
	run(t, check(t), "copies", filepath.Join(dir, shim), filepath.Join(same, shim), filepath.Join(other, shim))
}

// A parent loads the library, and each child opens.
func TestForkBeforeOpen(t *testing.T) {
	t.Parallel()
	url, _ := newStore(t)
	unique(t, 10_001, idsIn(run(t, check(t), "prefork", url)))
}

// 64 threads make IDs by rings, while the process is forked.
func TestThreads(t *testing.T) {
	t.Parallel()
	each := 1_000_000
	if testing.Short() {
		each = 20_000
	}
	url, _ := newStore(t)
	unique(t, 64*each, idsIn(run(t, check(t), "threads", url, "64", fmt.Sprint(each))))
}

// A lease is lost while 64 rings run: when the loss was seen and the beat
// rose, no ring gives out an ID. Its namespace is deleted, or, at full
// length, its server is killed, or answers no more.
func TestLossWhileRingsRun(t *testing.T) {
	t.Parallel()
	url, st := newStore(t)
	lose(t, check(t), url, "shop", func() {
		must(t, tests.ErrOf(scope.Namespaces(st).Delete(t.Context(), "shop")))
	})
	if !testing.Short() {
		t.Run("servers", lostServers)
	}
}

func lostServers(t *testing.T) {
	path, err := compileCheck(whole(t))
	must(t, err)
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "silent": syscall.SIGSTOP} {
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			s := servers.StartRedis(t)
			lose(t, path, s.URL(), "default", func() { s.Signal(t, signal) })
		})
	}
	t.Run("postgres/killed", func(t *testing.T) {
		t.Parallel()
		s := servers.StartPostgres(t)
		lose(t, path, s.URL(s.NewDatabase(t)), "default", func() { s.Signal(t, syscall.SIGKILL) })
	})
}

// lose runs the scene of a loss, which end causes.
func lose(t *testing.T, path, url, namespace string, end func()) {
	t.Helper()
	c := start(t, path, "loss", url, namespace)
	if _, err := c.stdout.Read(make([]byte, 1)); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr.Bytes())
	}
	end()
	c.wait(t)
}

// A process with rings is stopped past its lease, and another one takes its
// node over.
func TestStopPastTheLease(t *testing.T) {
	t.Parallel()
	url, _ := newStore(t)
	path := check(t)
	const options = "node=3,ttl=4s,lead=10" // a busy machine renews late
	first := start(t, path, "rings", url, options, "16")
	first.made(t, 10_000)
	first.stop(t)
	second := start(t, path, "rings", url, options, "16")
	second.made(t, 10_000)
	first.goOn(t)
	second.made(t, second.count()+10_000)
	b := second.end(t) // so that the first gets the node again
	first.made(t, first.count()+10_000)
	unique(t, 40_000, first.end(t), b)
}

// A machine is resumed twice from one snapshot: the rings of both copies
// notice it by the device, here a file in its place.
func TestCopiedMachine(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	page := make([]byte, os.Getpagesize())
	binary.LittleEndian.PutUint32(page, 0x4b4c4356)
	binary.LittleEndian.PutUint32(page[4:], uint32(len(page)))
	binary.LittleEndian.PutUint16(page[8:], 1)
	binary.LittleEndian.PutUint64(page[24:], 1<<8)
	binary.LittleEndian.PutUint64(page[104:], 41)
	path := filepath.Join(t.TempDir(), "vmclock0")
	must(t, os.WriteFile(path, page, 0o600))
	const own = `mount --make-rprivate / && mount -t tmpfs none /dev && cp "$1" /dev/ && exec "$0" copied`
	run(t, servers.Need(t, "util-linux", "unshare")[0], "--mount", "sh", "-c", own, check(t), path)
}

// Timers interrupt threads in C and in Go, with handlers of the program.
func TestSignals(t *testing.T) {
	t.Parallel()
	seconds := "10"
	if testing.Short() {
		seconds = "1"
	}
	for _, when := range []string{"after", "before"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			run(t, check(t), "signals", seconds, when)
		})
	}
}

// Without its Go part the library says what is missing.
func TestMissingGoPart(t *testing.T) {
	t.Parallel()
	path := check(t)
	dir := t.TempDir()
	shim, err := os.ReadFile(filepath.Join(build(t), "libsnowfence.so.1"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "libsnowfence.so.1"), shim, 0o700))
	run(t, "/usr/bin/env", "LD_PRELOAD="+filepath.Join(dir, "libsnowfence.so.1"), path, "unloaded")
}

// dlclose is harmless: handles go on, also of a library that is opened
// again.
func TestDlclose(t *testing.T) {
	t.Parallel()
	run(t, check(t), "reload", filepath.Join(build(t), "libsnowfence.so.1"))
}

func TestSequence(t *testing.T) {
	t.Parallel()
	url, st := newStore(t)
	must(t, sequence.Create(context.Background(), st, "bills", sequence.Definition{Max: new(int64(5))}))
	const want = "1\n2\n3\n4\n5\nstatus 12\n"
	if got := string(run(t, check(t), "sequence", url, "bills", "9")); got != want {
		t.Errorf("%q", got)
	}
}

// A number comes as the text of its pattern. A buffer that is too small
// takes none.
func TestSerial(t *testing.T) {
	t.Parallel()
	url, st := newStore(t)
	ctx := context.Background()
	for name, pattern := range map[string]string{"plain": "", "dated": "RE-{year}-{n:6}"} {
		must(t, sequence.Create(ctx, st, name, sequence.Definition{Pattern: pattern}))
	}
	want := func(got []byte, form string) {
		t.Helper()
		if !regexp.MustCompile("^" + form + "$").Match(got) {
			t.Errorf("%q, not %s", got, form)
		}
	}
	want(run(t, check(t), "serial", url, "plain", "2"), "1\n2\nstatus 0\n")
	want(run(t, check(t), "serial", url, "dated", "2"), `RE-\d{4}-000001
RE-\d{4}-000002
status 4
`)
}
