package clib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// The library for Windows runs under Wine: two processes and one of Linux
// lease nodes of a server, and make different IDs. (Wine 8 cannot open the
// side files of SQLite twice, as Windows can.)
func TestWindows(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	mingw := servers.Need(t, "mingw", "x86_64-w64-mingw32-gcc")[0]
	wine := "/usr/lib/wine/wine64"
	if !exists(wine) {
		wine = servers.Need(t, "wine", "wine")[0]
	}
	dir, err := lib("windows", tags)
	must(t, err)
	program := filepath.Join(dir, "windows.exe")
	tests.Run(t, exec.CommandContext(t.Context(), mingw, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o",
		program, "testdata/windows.c", "-I../../../cmd/libsnowfence/c", "-L"+dir, "-lsnowfence"))
	url, st := newStore(t)
	must(t, sequence.Create(t.Context(), st, "bills", sequence.Definition{}))
	address := servers.Address(servers.Ports(t, 1)[0])
	serve := servers.Start(t, "serve", servers.Program(t, servers.Snowfence),
		[]string{"serve", "--store", url, "--http", address, "--resp", ""}, nil)
	serve.Ready(t, func() error {
		_, err := servers.Get(t.Context(), "http://"+address+"/v1/default/next")
		return err
	})
	linux := start(t, check(t), "rings", url, "", "4")
	prefix := t.TempDir()
	wined := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), wine, args...)
		cmd.Env = append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all", "HOME="+prefix)
		return cmd
	}
	tests.Run(t, wined("wineboot"))
	if random := filepath.Join(prefix, "drive_c/windows/system32/bcryptprimitives.dll"); !exists(random) {
		tests.Run(t, exec.CommandContext(t.Context(), mingw, "-shared", "-o", random, "testdata/bcryptprimitives.c",
			"-ladvapi32"))
	}
	const each = 10_000
	var wg sync.WaitGroup
	lists := make([][]int64, 2)
	for i := range lists {
		wg.Go(func() {
			out, err := wined(program, "http://"+address, fmt.Sprint(each)).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
				return
			}
			for line := range strings.Lines(string(out)) {
				lists[i] = append(lists[i], number(t, strings.TrimSpace(line)))
			}
		})
	}
	wg.Wait()
	unique(t, len(lists)*4*each, append(lists, linux.end(t))...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
