package clib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/fleet"
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

// A server of PHP forks its workers after a preload script. When the script
// only loads the library, each worker makes IDs; when it opened, each is
// told.
func TestPreload(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	php := servers.Need(t, "php", "php")[0]
	url, _ := newStore(t)
	const load = `<?php require '%s'; Snowfence\Generator::load(); %s`
	const answer = `<?php
		try {
			$ids = Snowfence\Generator::open('%s');
			echo implode("\n", $ids->take(100)), "\nworker ", getmypid();
		} catch (Snowfence\Error $e) {
			echo $e->getCode();
		}`
	for name, c := range map[string]struct{ more, want string }{
		"loads": {"", "worker "}, "opens": {"$GLOBALS['ids'] = Snowfence\\Generator::open('mem:');", "6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{
				"preload.php": fmt.Sprintf(load, folder(t, "php/Snowfence.php"), c.more), "index.php": fmt.Sprintf(answer, url),
			} {
				must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
			}
			address := servers.Address(servers.Ports(t, 1)[0])
			cmd := exec.CommandContext(t.Context(), php, "-d", "ffi.enable=1", "-d", "opcache.enable=1", "-d",
				"opcache.enable_cli=1", "-d", "opcache.preload="+dir+"/preload.php", "-d", "opcache.preload_user=root",
				"-S", address, "-t", dir)
			cmd.Env = append(environment(t), "PHP_CLI_SERVER_WORKERS=4")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			must(t, cmd.Start())
			defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the workers too
			all := map[string]bool{}
			for len(all) < 500 {
				var text string
				fleet.Eventually(t, "an answer", func() (err error) {
					text, err = servers.Get(t.Context(), "http://"+address)
					return err
				})
				if !strings.Contains(text, c.want) {
					t.Fatalf("%q", text)
				}
				if name == "opens" {
					break
				}
				ids := strings.Fields(text)
				for _, id := range ids[:100] {
					if all[id] {
						t.Fatalf("%s came twice", id)
					}
					all[id] = true
				}
			}
		})
	}
}
