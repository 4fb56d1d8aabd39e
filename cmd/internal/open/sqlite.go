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

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	_ "modernc.org/sqlite" // the driver
)

// StatePath returns where the user's own store is: in the folder that the XDG convention gives to state.
func StatePath(env func(name string) string) (string, error) {
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the convention says to ignore relative ones
		home := env("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("there is no place for the store, since HOME is not set: " + remedies)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "snowfence", "snowfence.db"), nil
}

// remedies are the ways to do without the user's own store.
const remedies = "name one with --store sqlite:/path/to/ids.db, or go without: " +
	"--node 5 --state-file PATH for a number that no other machine uses, or --node 5 --store mem: where nothing can be written"

// Embedded opens the user's own store, and makes it and its folder on first use.
func Embedded(ctx context.Context, path string) (*Store, error) {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = touch(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the store in the state folder cannot be made (%w): %s", err, remedies)
	}
	return sqlite(ctx, path)
}

// touch makes sure that the file can be written; an empty one is an empty database.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sqlitePath reads what follows sqlite: in a URL: a path, as it is, or with // and an empty host before it.
func sqlitePath(rest string) (string, error) {
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return "", fmt.Errorf("%w sqlite:%s: a file has no host: write sqlite:PATH or sqlite:///PATH", ErrURL, rest)
		}
		rest = after
	}
	switch {
	case rest == "" || rest == ":memory:":
		return "", fmt.Errorf("%w sqlite:%s: the path of the file is missing: write sqlite:PATH, or mem: for a store in memory", ErrURL, rest)
	case strings.ContainsAny(rest, "?#\x00"):
		return "", fmt.Errorf("%w sqlite:%s: a path without '?' and '#' is all it takes; the settings are fixed", ErrURL, rest)
	}
	return filepath.Abs(rest)
}

// sqlite opens the SQLite file at path. An acknowledged write must outlive a power failure, hence synchronous=FULL, and many processes
// write at once, hence WAL, a busy timeout, and transactions that take the write lock when they begin.
func sqlite(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store sqlite:%s: its folder does not exist: make it, or correct the path", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("store sqlite:%s: that is a folder: add the name of the file", path)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("store sqlite:%s: %w", path, err)
	}
	st, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store sqlite:%s: %w", path, err), db.Close())
	}
	// The first read finds out whether this is a store, and makes one of an empty file.
	if _, err := st.Get(ctx, []lease.Key{{Namespace: "default", Node: lease.NamespaceNode}}); err != nil {
		return nil, errors.Join(fmt.Errorf("store sqlite:%s: %w", path, err), db.Close())
	}
	return &Store{Leases: st, Name: "sqlite:" + path, Local: true, close: db.Close}, nil
}
