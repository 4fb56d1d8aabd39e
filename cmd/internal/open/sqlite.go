package open

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

// sqlitePath reads the part after sqlite: of a URL: a path, as it is, or
// with // and an empty host before it.
func sqlitePath(rest string) (string, error) {
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return "", fmt.Errorf("%w sqlite:%s: a file has no host: write sqlite:PATH or sqlite:///PATH", ErrURL, rest)
		}
		rest = after
	}
	switch {
	case rest == "" || rest == ":memory:":
		return "", fmt.Errorf("%w sqlite:%s: the path of the file is missing: write sqlite:PATH, or mem: for a "+
			"store in memory", ErrURL, rest)
	case strings.ContainsAny(rest, "?#"):
		return "", fmt.Errorf("%w sqlite:%s: write only a path, without '?' and '#': the settings are fixed",
			ErrURL, rest)
	}
	return filepath.Abs(rest)
}

// ErrNoStore means that there is no store yet at the place that was looked
// at.
var ErrNoStore = errors.New("there is no store yet")

// openSQLite opens the SQLite file at path, to read it only if looks.
func openSQLite(ctx context.Context, path string, looks bool) (*Store, error) {
	var st *Store
	info, err := os.Stat(path)
	switch {
	case !hasSQLite:
		err = errors.New("this build has no driver for it (build tag snowfence_no_sqlite)")
	case err == nil && info.IsDir():
		err = errors.New("that is a folder: add the name of the file")
	case looks && errors.Is(err, fs.ErrNotExist):
		err = ErrNoStore
	case looks:
		st, err = lookFile(ctx, path)
	default:
		st, err = openFile(ctx, path)
	}
	if err != nil {
		return nil, permissionError(path, fmt.Errorf("store sqlite:%s: %w", path, err))
	}
	return st, nil
}

// openFile opens a file to write. An acknowledged write must outlive a
// power failure: hence synchronous=FULL, and fullfsync for macOS. Many
// processes write at once: hence WAL, a busy timeout, and transactions that
// take the write lock when they begin.
func openFile(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("its folder does not exist: make it, or correct the path")
	}
	made, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be made: %w", err)
	}
	st, err := connect(ctx, path, sqlstore.New, url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)"},
		"_txlock": {"immediate"},
	})
	if _, side := os.Stat(path + "-wal"); isReadOnly(err) && errors.Is(side, fs.ErrNotExist) {
		// No program uses the file, so it can be read without the files
		// that this user may not make. The store notices when another
		// program makes them.
		idle := url.Values{"immutable": {"1"}, "_pragma": {"query_only(1)"}}
		if st, idleErr := connect(ctx, path, sqlstore.New, idle); idleErr == nil {
			return st, nil
		}
	}
	if err != nil {
		return nil, err
	}
	st.Made = made
	return st, nil
}

// lookFile opens a file without the side files that a writer has beside it,
// unless they are there.
func lookFile(ctx context.Context, path string) (*Store, error) {
	settings := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		settings.Set("immutable", "1") // no program uses it
	}
	return connect(ctx, path, sqlstore.NewReadOnly, settings)
}

// create makes an empty file, which is an empty database, where there is
// none. In a folder that a group shares, the group shares the file.
func create(path string) (made bool, err error) {
	mode := fs.FileMode(0o600)
	if folder, err := os.Stat(filepath.Dir(path)); err == nil && isShared(folder) {
		// SQLite gives the files beside it the same mode, but a moment late
		// under a stricter umask. In that moment, another user cannot open
		// them.
		mode = 0o660
		shareNewFiles()
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		// It is not opened: to close it would drop the locks that SQLite
		// may hold on it in this process.
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// connect opens a file with some settings, and reads it: the first read
// finds out whether this is a store, and makes one of an empty file.
func connect(
	ctx context.Context, path string, newStore func(*sql.DB, sqlstore.Dialect) (*sqlstore.Store, error),
	settings url.Values,
) (*Store, error) {
	db, err := sql.Open("sqlite", dsn(filepath.ToSlash(path), settings))
	if err != nil {
		return nil, err
	}
	st, err := newStore(db, sqlstore.SQLite())
	if err == nil {
		_, _, err = st.Get(ctx, []store.Key{{Namespace: "default", Node: store.NamespaceNode}})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{Leases: st, Name: "sqlite:" + path, Local: true, path: path, close: db.Close}, nil
}

// dsn returns the URL of a file; its path has slashes.
func dsn(path string, settings url.Values) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // before the drive of Windows
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	return u.String()
}

// File returns the path of an SQLite file; "" for other stores.
func (s *Store) File() string { return s.path }
