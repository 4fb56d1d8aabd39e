package disk

import (
	"path/filepath"
	"testing"
)

func TestRemoteFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "SMB/CIFS", 0xfe534d42: "SMB/CIFS", 0x01021997: "9P", 0x00c36400: "CephFS",
		0x20030528: "OrangeFS", 0x7c7c6673: "Parallels shared folder",
		// ext4, XFS, Btrfs, tmpfs, overlay
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", 0x65735546: "", 0: "",
	} {
		if got := remotes[magic]; got != want {
			t.Errorf("magic %#x is taken for %q, want %q", magic, got, want)
		}
	}
	for kind, want := range map[string]bool{
		"virtiofs": true, "fakeowner": true, "fuse.grpcfuse": true, "fuse.osxfs": true, "fuse.vmhgfs-fuse": true,
		"fuse.sshfs": true, "prl_fs": true, "fuse.seaweedfs": true, "fuse.geesefs": true, "fuse.cubefs": true,
		"fuse.quobyte": true, "wekafs": true, "fuse.mfs": true, "": false, "ramfs": false, "ext4": false,
		"fuseblk": false, "fuse.gocryptfs": false,
	} {
		if got := remoteType(kind); got != "" != want {
			t.Errorf("the type %q is taken for %q", kind, got)
		}
	}
	if kind, err := Network(t.TempDir()); kind != "" || err != nil {
		t.Errorf("the temporary folder: %q, %v", kind, err)
	}
}

// TestMounts reads a table of mounts as a container with a file of its own
// sees it.
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
	if Mounted(filepath.Join(t.TempDir(), "ids.db")) {
		t.Error("a file in the temporary folder is taken for a mount point")
	}
	if !Mounted("/proc") {
		t.Error("/proc is not taken for a mount point")
	}
}
