package open

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Places are where the stores of commands lie that name none.
type Places struct {
	System string // the file of all users, which is used where it is there; "" where there is no such place
	Own    string // the file of the user, which is made on first use; "" where there is no place for it
}

// PlacesOf returns the places on an operating system. The user's own file
// is in the folder that the XDG convention gives to state, on Windows in
// the local application data.
func PlacesOf(goos string, env func(name string) string) Places {
	p := Places{System: "/var/lib/snowfence/snowfence.db"}
	state := env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the convention says to ignore relative ones
		state = ""
		if home := env("HOME"); filepath.IsAbs(home) {
			state = filepath.Join(home, ".local", "state")
		}
	}
	switch goos {
	case "darwin":
		p.System = "/Library/Application Support/snowfence/snowfence.db"
	case "windows":
		p.System = ""
		if data := env("ProgramData"); data != "" {
			p.System = filepath.Join(data, "snowfence", "snowfence.db")
		}
		if data := env("LOCALAPPDATA"); data != "" && state == "" {
			state = data
		}
	}
	if state != "" {
		p.Own = filepath.Join(state, "snowfence", "snowfence.db")
	}
	return p
}

// remedies are the ways to do without the user's own store.
const remedies = "name one with --store sqlite:/path/to/ids.db, or go without: " +
	"--node 5 --state-file PATH for a number that no other machine uses, or --node 5 --store mem: where nothing " +
	"can be written"

// Open opens the system-wide store where its file is there, or else the
// user's own, which it makes on first use. A system-wide store that this
// user may not use is an error: the user's own would be another scope, and
// its IDs could be the same.
func (p Places) Open(ctx context.Context) (*Store, error) { return p.openPlace(ctx, false) }

// Look is Open that changes nothing.
func (p Places) Look(ctx context.Context) (*Store, error) { return p.openPlace(ctx, true) }

func (p Places) openPlace(ctx context.Context, looks bool) (*Store, error) {
	if p.System != "" {
		_, err := os.Stat(p.System)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, permissionError(p.System, fmt.Errorf("checking for a store of all users on this machine: "+
				"%w", err))
		case err == nil, p.Own == p.System: // a service's own, which makes it for all
			return p.openSystem(ctx, looks)
		}
	}
	if looks {
		if err := p.Missing(""); err != nil {
			return nil, err
		}
		return openSQLite(ctx, p.Own, true)
	}
	if p.Own == "" {
		return nil, errors.New("there is no place for the store, because HOME is not set: " + remedies)
	}
	if err := os.MkdirAll(filepath.Dir(p.Own), 0o700); err != nil {
		return nil, fmt.Errorf("the store in the state folder cannot be made (%w): %s", err, remedies)
	}
	st, err := openSQLite(ctx, p.Own, false)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %s", err, remedies)
	}
	return st, err
}

// Missing returns ErrNoStore if the file of the URL is missing. Without a
// URL, the files of both places must be missing.
func (p Places) Missing(rawURL string) error {
	err := fmt.Errorf("%w: neither %q nor %q is there", ErrNoStore, p.System, p.Own)
	files := []string{p.System, p.Own}
	if rawURL != "" {
		at, parseErr := parse(rawURL)
		if parseErr != nil || at.file == "" {
			return nil
		}
		err, files = fmt.Errorf("store sqlite:%s: %w", at.file, ErrNoStore), []string{at.file}
	}
	for _, file := range files {
		if _, err := os.Stat(file); file != "" && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

func (p Places) openSystem(ctx context.Context, looks bool) (*Store, error) {
	st, err := openSQLite(ctx, p.System, looks)
	if err != nil {
		return nil, err
	}
	st.System = true
	if info, err := os.Stat(p.Own); p.Own != p.System && err == nil && info.Mode().IsRegular() {
		st.OwnFile = p.Own
	}
	return st, nil
}
