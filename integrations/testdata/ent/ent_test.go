// The test of integrations makes a module of this folder.
package orders

import (
	"database/sql"
	"errors"
	"os"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/snowfence/snowfence"

	"example.com/orders/ent"
	entorder "example.com/orders/ent/order"
	_ "example.com/orders/ent/runtime"
)

// check ends a test at the first error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEnt(t *testing.T) {
	scheme, err := snowfence.NewScheme(snowfence.Default())
	check(t, err)
	ids, err := snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(scheme, 7)})
	check(t, err)
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	check(t, err)
	defer db.Close()
	ctx := t.Context()
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect.Postgres, db)))
	check(t, client.Schema.Create(ctx))

	FillKeys(client, ids)
	one, err := client.Order.Create().SetName("one").Save(ctx)
	check(t, err)
	bulk, err := client.Order.CreateBulk(
		client.Order.Create().SetName("two"), client.Order.Create().SetName("nine").SetID(9)).Save(ctx)
	check(t, err)
	back, err := client.Order.Query().Where(entorder.IDIn(one.ID, bulk[0].ID)).Order(entorder.ByID()).All(ctx)
	check(t, err)
	if len(back) != 2 || back[0].ID != one.ID || back[1].Name != "two" || bulk[1].ID != 9 || one.ID < 1<<40 {
		t.Errorf("read %v", back)
	}
	check(t, one.Update().SetName("changed").Exec(ctx))

	check(t, ids.Close())
	if _, err := client.Order.Create().SetName("late").Save(ctx); !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("an order without an ID: %v", err)
	}
}
