package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

// A key and a password that every user of the machine could read got no
// warning, as secrets did.
func TestServeWarnsOfReadableFiles(t *testing.T) {
	dir := t.TempDir()
	password, key := filepath.Join(dir, "password"), filepath.Join(dir, "tls.key")
	for _, name := range []string{password, key} {
		noError(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	ask := func() string {
		var errs bytes.Buffer
		store := "postgres://db.example/ids?password_file=" + password + "&sslkey=" + key
		args := []string{"serve", "--check-config", "--store", store}
		if code := run(t.Context(), args, nil, &errs, &errs, nil); code != command.ExitOK {
			t.Errorf("exit code %d: %s", code, &errs)
		}
		return errs.String()
	}
	if text := ask(); strings.Contains(text, "can read") {
		t.Error(text)
	}
	for _, name := range []string{password, key} {
		noError(t, os.Chmod(name, 0o644))
	}
	if text := ask(); strings.Count(text, "warning: every user of this machine can read") != 2 {
		t.Error(text)
	}
}
