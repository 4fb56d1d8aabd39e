//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

// TestWitnessThatMayNotBeWritten lets a user read a file whose witness he
// may not write, and refuses his swaps. Root may write all, so it runs as
// nobody.
func TestWitnessThatMayNotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "snowfence-nobody-")
		if err == nil {
			defer os.RemoveAll(dir)
			err = os.Chown(dir, 65534, 65534)
		}
		var test []byte
		if err == nil {
			test, err = os.ReadFile(os.Args[0])
		}
		if err == nil {
			err = os.WriteFile(dir+"/test", test, 0o755) // where nobody may run it
		}
		must(t, err)
		cmd := exec.Command(dir+"/test", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		tests.Run(t, cmd)
		return
	}
	path, _, before := scene(t)
	nonce := "b"
	for _, mode := range []os.FileMode{0o400, 0, 0o600} {
		must(t, os.Chmod(path+"-witness", mode))
		same(t, path, before, "a change of the mode")
		db, st := openFile(t, path)
		defer db.Close()
		next := nonce + "b"
		_, err := store.Put(t.Context(), st, store.Write{Old: nonce, New: record(1, next)})
		if mode == 0o600 && err != nil || mode != 0o600 && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("mode %v: %v", mode, err)
		}
		if rs, _, getErr := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}}); getErr != nil ||
			(rs[0].Nonce == nonce) != (err != nil) {
			t.Errorf("mode %v: %+v, %v", mode, rs, getErr)
		}
	}
}
