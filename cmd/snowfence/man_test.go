package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The man pages in docs/man are those of the commands.
func TestManPagesAreCurrent(t *testing.T) {
	const committed = "../../docs/man"
	dir := t.TempDir()
	if code := run(t.Context(), []string{"man", dir}, nil, os.Stdout, os.Stderr, nil); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	pages, err := os.ReadDir(dir)
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		want, err := os.ReadFile(filepath.Join(dir, page.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(committed, page.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of the command: run make gen (%v)", page.Name(), err)
		}
	}
}
