package clib

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

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
