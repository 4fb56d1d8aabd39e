package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

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
	for _, path := range []string{p.System, p.Own} {
		if path == "" {
			continue
		}
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
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
	return nil, fmt.Errorf("%w: neither %q nor %q is there", ErrNoStore, p.System, p.Own)
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
