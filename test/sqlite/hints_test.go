package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
)

// TestHints does what errors say.
func TestHints(t *testing.T) {
	ctx := t.Context()
	memory, st := openFile(t, ":memory:")
	memory.SetMaxOpenConns(1)
	_, err := lease.ListNamespaces(ctx, st)
	if err == nil || !strings.Contains(err.Error(), "give it a file, or use lease.NewMemory") {
		t.Fatal(err)
	}
	db, st := openFile(t, filepath.Join(t.TempDir(), "ids.db"))
	for name, st := range map[string]lease.Store{"a file": st, "lease.NewMemory": lease.NewMemory()} {
		g, err := lease.OpenGenerator(ctx, st, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := g.Next(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := sqlstore.StartNumber(ctx, db, sqlstore.SQLite(), "starts", 1); err != nil {
		t.Fatal(err)
	}
	_, err = sqlstore.StartNumber(ctx, db, sqlstore.SQLite(), "starts", 1)
	if err == nil || !strings.Contains(err.Error(), "lease a node (lease.Open), or use another name with other nodes") {
		t.Fatal(err)
	}
	if _, err := sqlstore.StartNumber(ctx, db, sqlstore.SQLite(), "others", 1); err != nil {
		t.Error(err)
	}
	l, err := lease.Open(ctx, st, "default", twitter(t), nil)
	if err == nil || !strings.Contains(err.Error(), "use its layout, or another namespace") {
		t.Fatal(l, err)
	}
	if l, err = lease.Open(ctx, st, "leased", twitter(t), &lease.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
