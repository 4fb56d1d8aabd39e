package sqlstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
)

func TestRemoteFileSystems(t *testing.T) {
	for magic, want := range map[int64]string{
		0x6969: "NFS", 0xff534d42: "SMB/CIFS", 0xfe534d42: "SMB/CIFS", 0x01021997: "9P", 0x00c36400: "CephFS",
		-0xacb2be: "SMB/CIFS",                                                                               // 0xff534d42 where the field is 32 bits wide
		0xef53:    "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", fuseMagic: "", 0: "", // ext4, XFS, Btrfs, tmpfs, overlay
	} {
		if got := remote(magic); got != want {
			t.Errorf("magic %#x is taken for %q, want %q", magic, got, want)
		}
	}
	if err := local(t.TempDir()); err != nil {
		t.Errorf("the temporary folder: %v", err)
	}
}

func TestFileCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write := func() {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openFile(path); err == nil {
		t.Error("a file that is not there was opened")
	}
	write()
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id := f.identity()
	if err := f.check(); err != nil {
		t.Errorf("the same file: %v", err)
	}
	if again, err := openFile(path); err != nil || again.identity() != id {
		t.Errorf("the same file has the identities %s and %s, %v", id, again.identity(), err)
	}
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); err != nil || f.identity() != id {
		t.Errorf("the same file with other content: %v, identity %s, was %s", err, f.identity(), id)
	}
	write()
	if err := f.check(); !errors.Is(err, lease.ErrReplaced) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("another file at the path: %v", err)
	}
	if g, err := openFile(path); err != nil || g.identity() == id {
		t.Errorf("another file has the same identity %s, %v", id, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); !errors.Is(err, lease.ErrReplaced) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("no file at the path: %v", err)
	}
}
