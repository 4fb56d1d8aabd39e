package sqlite

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestHints does what errors say.
func TestHints(t *testing.T) {
	ctx := t.Context()
	memory, st := openFile(t, ":memory:")
	memory.SetMaxOpenConns(1)
	_, err := scope.Namespaces(st).List(ctx)
	tests.Says(t, err, "give it a file, or use store.NewMemory", "a store in memory")
	_, st = openFile(t, filepath.Join(t.TempDir(), "ids.db"))
	for name, st := range map[string]store.Store{"a file": st, "store.NewMemory": store.NewMemory()} {
		g, err := lease.Generator(ctx, st, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tests.WantErr(t, tests.ErrOf(g.Next(ctx)), nil, "%s", name)
		tests.WantErr(t, g.Close(), nil, "%s", name)
	}

	_, err = lease.Open(ctx, st, "default", fleet.Scheme(t, "twitter"), nil)
	tests.Says(t, err, "use its layout, or another namespace", "another layout")
	l, err := lease.Open(ctx, st, "leased", fleet.Scheme(t, "twitter"), &lease.Options{Create: true})
	must(t, err, l.Close())
}

// TestBusyTimeoutHint opens a file without a time to wait, and then as the
// advice says.
func TestBusyTimeoutHint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.db")
	for options, want := range map[string]string{
		"":                             "connections do not wait for each other, and ask again instead: open the file with busy_timeout(10000)",
		"?_pragma=busy_timeout(10000)": "",
	} {
		_, st := openDSN(t, "file:"+path+options)
		found, err := st.Report(t.Context())
		must(t, err)
		for _, f := range found {
			if f.Name == "busy_timeout" && f.Advice != want {
				t.Errorf("%s: %+v", options, f)
			}
		}
	}
}

// TestLockedFile has another program lock the file: the error says how to
// find it, and when it is gone, writes go on.
func TestLockedFile(t *testing.T) {
	const advice = "a transaction of this program or of another one (fuser FILE) has the write lock of the file: end " +
		"it within a third of the ttl, or keep the IDs in a file of their own"
	for _, c := range []struct{ name, options, advice string }{
		{"SQLite refuses at once", "", advice},
		{"SQLite waits for longer than the caller", "?_pragma=busy_timeout(1000)", advice + "; or the disk is too slow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fuser := servers.Need(t, "psmisc", "fuser")[0]
			path := filepath.Join(t.TempDir(), "ids.db")
			_, st := openDSN(t, "file:"+path+c.options)
			must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "first", fleet.Scheme(t, "twitter"), nil)))
			holder := exec.Command(os.Args[0])
			holder.Env = append(os.Environ(), "SNOWFENCE_TEST_LOCK="+path)
			out, err := holder.StdoutPipe()
			if err == nil {
				err = holder.Start()
			}
			must(t, err)
			defer func() { _, _ = holder.Process.Kill(), holder.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
				t.Fatal(line, err)
			}
			short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err = scope.Namespaces(st).Create(short, "second", fleet.Scheme(t, "twitter"), nil)
			tests.Says(t, err, c.advice, "beside a program that has the lock")
			found, err := exec.Command(fuser, path).Output()
			must(t, err)
			for _, pid := range strings.Fields(string(found)) {
				if n, err := strconv.Atoi(pid); err != nil {
					t.Fatal(err)
				} else if n == os.Getpid() {
					continue
				} else if n != holder.Process.Pid {
					t.Fatalf("fuser names %d, and %d holds the lock", n, holder.Process.Pid)
				} else if err := holder.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			_ = holder.Wait() // for ever, if fuser did not name it
			must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "second", fleet.Scheme(t, "twitter"), nil)))
		})
	}
}

// TestAdvice provokes errors of the database: each says what to do.
func TestAdvice(t *testing.T) {
	use := func(t *testing.T, dsn string) error {
		db, st := openDSN(t, dsn)
		defer db.Close() // before the file is changed
		ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
		defer cancel()
		if _, err := scope.Namespaces(st).Create(ctx, "default", fleet.Scheme(t, "twitter"), nil); err != nil {
			return err
		}
		ws := make([]store.Write, 5000)
		for i := range ws {
			ws[i].New = store.Record{
				Key: store.Key{Namespace: "default", Node: int64(i)}, Nonce: "x", Label: strings.Repeat("x", 100),
			}
		}
		errs, _, _ := st.Swap(ctx, ws)
		return errors.Join(errs...)
	}
	for want, c := range map[string]struct {
		content string
		options string
	}{
		"make room":              {"", "?_pragma=max_page_count(50)"},
		"name another path":      {strings.Repeat("no database\n", 1000), ""},
		"may not write the file": {"", "?_pragma=query_only(1)"},
	} {
		path := filepath.Join(t.TempDir(), "ids.db")
		must(t, os.WriteFile(path, []byte(c.content), 0o600))
		tests.Says(t, use(t, "file:"+path+c.options), want, "")
	}
	path := filepath.Join(t.TempDir(), "ids.db")
	must(t, use(t, "file:"+path))
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] = 0xa5
	}
	must(t, os.WriteFile(path, data, 0o600))
	tests.Says(t, use(t, "file:"+path), "run snowfence store restored before", "a damaged file")
}
