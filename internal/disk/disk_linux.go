package disk

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Network returns the kind of the network file system that a path is on; ""
// when it is on none that is known.
func Network(path string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return "", fmt.Errorf("asking for the file system of %s: %w", path, err)
	}
	switch uint32(fs.Type) {
	case 0xef53, 0x58465342, 0x9123683e, 0x01021994: // ext4, XFS, Btrfs, tmpfs: a look at all mounts takes long
		return "", nil
	}
	return cmp.Or(remotes[uint32(fs.Type)], remoteType(Kind(path))), nil
}

// remotes are the names of file systems that machines may share, by their
// magic numbers.
var remotes = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB/CIFS", 0xff534d42: "SMB/CIFS", 0xfe534d42: "SMB/CIFS", 0x01021997: "9P",
	0x00c36400: "CephFS", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x19830326: "BeeGFS", 0x20030528: "OrangeFS",
	0x5346414f: "AFS", 0x6b414653: "AFS", 0x73757245: "Coda", 0xaad7aaea: "PanFS", 0xbeefdead: "StorNext",
	0x01161970: "GFS2", 0x7461636f: "OCFS2",
	0x786f4256: "VirtualBox shared folder",
	0xbacbacbc: "VMware shared folder",
	0x7c7c6673: "Parallels shared folder",
}

// remoteType returns the type of a mount that machines may share. FUSE has
// one magic number for these and for local disks.
func remoteType(kind string) string {
	for _, known := range []string{
		"sshfs", "s3fs", "rclone", "gluster", "ceph", "gcsfuse", "goofys",
		"mountpoint-s3", "juicefs", "davfs", "blobfuse", "curlftpfs", "moosefs", "fuse.mfs", "lizardfs",
		"weed", "geesefs", "cubefs", "quobyte", "wekafs",
		"virtiofs", "fakeowner", "grpcfuse", "osxfs", "vmhgfs", "prl_fs", // a host and its virtual machines
	} {
		if strings.Contains(kind, known) {
			return kind
		}
	}
	return ""
}

// Kind returns the type of the file system that a path is on, such as ext4;
// "" when it is not known.
func Kind(path string) string {
	if abs, err := filepath.EvalSymlinks(path); err == nil {
		path = abs
	}
	_, kind := mountOf(mountTable(), path)
	return kind
}

// Mounted reports whether the file itself is mounted, as containers do with
// single files.
func Mounted(path string) bool {
	at, _ := mountOf(mountTable(), path)
	return at == path
}

func mountTable() string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "" // nothing is known of mounts
	}
	return string(table)
}

// mountOf returns where the file system of a path is mounted, and its type,
// from mountinfo.
func mountOf(table, path string) (at, kind string) {
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(types) < 1 {
			continue
		}
		mount := unescape.Replace(fields[4])
		under := mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
		if under && len(mount) >= len(at) {
			at, kind = mount, types[0] // the last of several is on top
		}
	}
	return at, kind
}

// unescape undoes the kernel's escapes in names of mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
