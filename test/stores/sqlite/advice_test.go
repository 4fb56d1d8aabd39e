package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// TestAdvice provokes errors of the database: each says what to do.
func TestAdvice(t *testing.T) {
	use := func(t *testing.T, dsn string) error {
		db, st := openDSN(t, dsn)
		defer db.Close() // before the file is changed
		ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
		defer cancel()
		if _, err := scope.Namespaces(st).Create(ctx, "default", fleet.Scheme(t, "twitter"), nil); err != nil {
			return err
		}
		ws := make([]store.Write, 5000)
		for i := range ws {
			ws[i].New = store.Record{
				Key: store.Key{Namespace: "default", Node: int64(i)}, Nonce: "x",
				Label: strings.Repeat("x", 100),
			}
		}
		errs, _, _ := st.Swap(ctx, ws)
		return errors.Join(errs...)
	}
	for want, c := range map[string]struct {
		content string
		options string
	}{
		"make room":              {"", "?_pragma=max_page_count(50)"},
		"name another path":      {strings.Repeat("no database\n", 1000), ""},
		"may not write the file": {"", "?_pragma=query_only(1)"},
	} {
		path := filepath.Join(t.TempDir(), "ids.db")
		must(t, os.WriteFile(path, []byte(c.content), 0o600))
		tests.Says(t, use(t, "file:"+path+c.options), want, "")
	}
	path := filepath.Join(t.TempDir(), "ids.db")
	must(t, use(t, "file:"+path))
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] = 0xa5
	}
	must(t, os.WriteFile(path, data, 0o600))
	tests.Says(t, use(t, "file:"+path), "replace it by a backup", "a damaged file")
}
