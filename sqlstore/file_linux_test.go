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
		// 0xff534d42 where the field is 32 bits wide
		-0xacb2be: "SMB/CIFS",
		// ext4, XFS, Btrfs, tmpfs, overlay
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", fuseMagic: "", 0: "",
	} {
		if got := remote(magic); got != want {
			t.Errorf("magic %#x is taken for %q, want %q", magic, got, want)
		}
	}
	if err := refuseNetwork(t.TempDir()); err != nil {
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
	if err := f.check(sideFiles{}); err != nil {
		t.Errorf("the same file: %v", err)
	}
	if again, err := openFile(path); err != nil || again.identity() != id {
		t.Errorf("the same file has the identities %s and %s, %v", id, again.identity(), err)
	}
	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.check(sideFiles{}); err != nil || f.identity() != id {
		t.Errorf("the same file with other content: %v, identity %s, was %s", err, f.identity(), id)
	}
	write()
	err = f.check(sideFiles{})
	if !errors.Is(err, lease.ErrReplaced) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("another file at the path: %v", err)
	}
	if g, err := openFile(path); err != nil || g.identity() == id {
		t.Errorf("another file has the same identity %s, %v", id, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.check(sideFiles{}); !errors.Is(err, lease.ErrReplaced) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("no file at the path: %v", err)
	}
}

func TestSides(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.WriteFile(path+suffix, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range suffixes {
		used, err := f.sideFiles()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.check(used); err != nil {
			t.Errorf("nothing changed: %v", err)
		}
		if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
		if err := f.check(used); !errors.Is(err, lease.ErrReplaced) ||
			!strings.Contains(err.Error(), suffix+" was deleted") {
			t.Errorf("%s was deleted: %v", suffix, err)
		}
		if err := os.Rename(path+".new", path+suffix); err != nil {
			t.Fatal(err)
		}
		if err := f.check(used); !errors.Is(err, lease.ErrReplaced) ||
			!strings.Contains(err.Error(), suffix+" is another one") {
			t.Errorf("%s is another one: %v", suffix, err)
		}
	}
}

// TestMounts reads a table of mounts as a container with a file of its own sees it.
func TestMounts(t *testing.T) {
	const table = `1146 1023 0:233 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x
1147 1146 0:236 / /proc rw,nosuid - proc proc rw
1151 1146 254:1 /srv/data /data rw,relatime - ext4 /dev/vda1 rw
1152 1151 0:55 / /data/far rw,relatime shared:7 - fuse.sshfs host:/ rw
1153 1146 254:1 /srv/ids.db /ids.db rw,relatime - ext4 /dev/vda1 rw
1154 1146 254:1 /srv/x /a\040b\134c.db rw,relatime - ext4 /dev/vda1 rw
1155 1146 254:1 /srv /data rw,relatime - xfs /dev/vdb1 rw
`
	for path, want := range map[string][2]string{
		"/ids.db":         {"/ids.db", "ext4"},
		"/ids.db2":        {"/", "overlay"},
		"/data/ids.db":    {"/data", "xfs"},
		"/data/far/a.db":  {"/data/far", "fuse.sshfs"},
		`/a b\c.db`:       {`/a b\c.db`, "ext4"},
		"/home/me/ids.db": {"/", "overlay"},
	} {
		if at, kind := mountOf(table, path); at != want[0] || kind != want[1] {
			t.Errorf("%s is on %s (%s), want %v", path, at, kind, want)
		}
	}
	if at, _ := mountOf("", "/ids.db"); at != "" {
		t.Errorf("without a table: %q", at)
	}
	if mounted(filepath.Join(t.TempDir(), "ids.db")) {
		t.Error("a file in the temporary folder is taken for a mount point")
	}
	if !mounted("/proc") {
		t.Error("/proc is not taken for a mount point")
	}
	if err := oneName("/ids.db", 1, true); err == nil || !strings.Contains(err.Error(), "mount the folder") {
		t.Errorf("a mounted file: %v", err)
	}
}
