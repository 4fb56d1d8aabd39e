package open

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SQLite's result codes for missing rights.
const (
	codePerm     = 3
	codeReadOnly = 8
	codeCantOpen = 14
)

// permissionError adds advice to an error of missing rights: how this user
// gets to use the file.
func permissionError(path string, err error) error {
	if advice := permissionAdvice(path, err); advice != "" {
		return fmt.Errorf("%w\n%s", err, advice)
	}
	return err
}

// PermissionAdvice says what to do about an error of a store's file that
// this user may not use; "" for all else.
func (s *Store) PermissionAdvice(err error) string {
	if s.path == "" {
		return ""
	}
	return permissionAdvice(s.path, err)
}

func permissionAdvice(path string, err error) string {
	if !isReadOnly(err) && !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	const other = "; another store, with --store, is another scope: its IDs can be the same"
	folder, folderErr := os.Stat(filepath.Dir(path))
	switch group := groupOf(folder); {
	case folderErr != nil:
		return ""
	case group == "" || !isShared(folder):
		return fmt.Sprintf("the folder of %s is not shared by a group: snowfence help stores says how to share "+
			"a store", path) + other
	case !member(folder):
		return fmt.Sprintf("the users of group %s share this store: join it (usermod -aG %s USER, as root), and "+
			"log in again", group, group) + other
	}
	if files := sharingAdvice(path, groupOf(folder)); files != "" {
		return fmt.Sprintf("the users of group %s share the folder of this store, and not these files: as root, "+
			"chgrp %s %s && chmod 660 %s", groupOf(folder), groupOf(folder), files, files)
	}
	return ""
}

// isReadOnly reports whether an error comes from a user without the right
// to write a file, or beside it.
func isReadOnly(err error) bool {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return false
	}
	code := coded.Code() & 0xff // without what extended codes add
	return code == codePerm || code == codeReadOnly || code == codeCantOpen
}

// sharingAdvice returns which files of a store the users of a group cannot
// write, with spaces between them.
func sharingAdvice(path, group string) string {
	var files []string
	for _, suffix := range []string{"", "-wal", "-shm", "-witness"} {
		if file, err := os.Stat(path + suffix); err == nil && (groupOf(file) != group ||
			file.Mode().Perm()&0o060 != 0o060) {
			files = append(files, path+suffix)
		}
	}
	return strings.Join(files, " ")
}

// isShared reports whether a folder is meant for the users of its group:
// they may write, and new files are the group's.
func isShared(folder os.FileInfo) bool {
	return folder.Mode()&os.ModeSetgid != 0 && folder.Mode().Perm()&0o070 == 0o070
}
