// Package integrations runs IDs through ORMs, drivers and wire formats. The
// lines that docs/start/integrations.md shows are lines of these tests.
package integrations

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/public"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestPostgres runs all drivers and ORMs on one server, each in a database
// of its own.
func TestPostgres(t *testing.T) {
	p := servers.StartPostgres(t)
	for name, test := range map[string]func(*testing.T, string){
		"database/sql": testSQL,
		"pgx":          testPgx,
		"pgx text":     testPgxText,
		"pgx stdlib":   testPgxTextSQL,
		"sqlx":         testSqlx,
		"sqlc":         testSqlc,
		"bun":          testBun,
		"ent":          testEnt,

		"gorm: zero key without the plugin": testGormZeroKey,
		"gorm: structs, slices and maps":    testGormRows,
		"gorm: associations":                testGormAssociations,
		"gorm: save":                        testGormSave,
		"gorm: upserts":                     testGormUpserts,
		"gorm: columns chosen":              testGormColumns,
		"gorm: kinds of keys":               testGormKeys,
		"gorm: plain types of keys":         testGormPlainKeys,
		"gorm: an error of Next":            testGormError,
		"gorm: what cannot be filled":       testGormRefusals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p.URL(p.NewDatabase(t)))
		})
	}
}

// newIDs returns a generator of a bare node: the tests run once.
func newIDs(t *testing.T) *snowfence.Generator {
	t.Helper()
	s := must(snowfence.NewScheme(snowfence.Default()))
	ids := must(snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, 7)}))
	t.Cleanup(func() { _ = ids.Close() })
	return ids
}

func openSQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := must(sql.Open("pgx", url))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// check ends a test at the first error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OrderID and UserID are kinds of IDs that the compiler keeps apart.
type (
	order struct{}
	user  struct{}

	OrderID = public.ID[order]
	UserID  = public.ID[user]
)

var (
	orderPrefix = public.MustPrefix("ord", snowfence.Base32Hex)
	userPrefix  = public.NoPrefix(snowfence.Base32Hex).Masked(newMask())
)

func (order) Prefix() public.Prefix { return orderPrefix }
func (user) Prefix() public.Prefix  { return userPrefix }

func newMask() *public.Mask {
	m, err := public.NewMask(snowfence.GenerateSecret())
	if err != nil {
		panic(err)
	}
	return m
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
