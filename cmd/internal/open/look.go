package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/snowfence/snowfence/sqlstore"
)

// ErrNoStore means that there is no store yet at the place that was looked at.
var ErrNoStore = errors.New("there is no store yet")

// Look opens the store that a URL names, and changes nothing: it makes no file, no table and no
// identity. It needs the right to read, and no other.
func Look(ctx context.Context, rawURL string, env func(name string) string) (*Store, error) {
	return openOrLook(ctx, rawURL, env, true)
}

// Look opens the system-wide store where its file is there, or else the user's own, and changes
// nothing.
func (p Places) Look(ctx context.Context) (*Store, error) {
	path, err := p.find()
	if err != nil {
		return nil, err
	}
	st, err := lookSQLite(ctx, path)
	if err != nil || path != p.System {
		return st, err
	}
	st.System = true
	if info, err := os.Stat(p.Own); p.Own != p.System && err == nil && info.Mode().IsRegular() {
		st.OwnFile = p.Own
	}
	return st, nil
}

// find returns the file of the system-wide store, or else the user's own.
func (p Places) find() (string, error) {
	for _, path := range []string{p.System, p.Own} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: neither %q nor %q is there", ErrNoStore, p.System, p.Own)
}

// Missing returns ErrNoStore if a URL, or without one a place, is that of a file that is not there.
func (p Places) Missing(rawURL string) error {
	if rawURL == "" {
		_, err := p.find()
		return err
	}
	scheme, rest, _ := strings.Cut(rawURL, ":")
	path, err := sqlitePath(rest)
	if scheme != "sqlite" || err != nil {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store sqlite:%s: %w", path, ErrNoStore)
	}
	return nil
}

// lookSQLite opens a file without the side files that a writer has beside it, unless they are
// there.
func lookSQLite(ctx context.Context, path string) (*Store, error) {
	if !hasSQLite {
		return nil, fmt.Errorf("store sqlite:%s: this build has no driver for it (build tag snowfence_no_sqlite)", path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("store sqlite:%s: %w", path, ErrNoStore)
	case err != nil:
		return nil, fmt.Errorf("store sqlite:%s: %w", path, err)
	case info.IsDir():
		return nil, fmt.Errorf("store sqlite:%s: that is a folder: add the name of the file", path)
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		settings.Set("immutable", "1") // no program uses it
	}
	db, err := openFile(path, settings)
	if err != nil {
		return nil, fmt.Errorf("store sqlite:%s: %w", path, err)
	}
	st, err := connected(ctx, path, db, sqlstore.NewReadOnly)
	if err != nil {
		return nil, permissionError(path, fmt.Errorf("store sqlite:%s: %w", path, err))
	}
	return st, nil
}

// File returns the path of an SQLite file; "" for other stores.
func (s *Store) File() string { return s.path }
