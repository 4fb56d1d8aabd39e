// Package shop runs IDs through ent, in a module that the test of integrations makes.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/snowfence/snowfence"

	"example.com/shop/ent"
	"example.com/shop/ent/hook"
	entorder "example.com/shop/ent/order"
	_ "example.com/shop/ent/runtime"
	"example.com/shop/schema"
)

// check ends a test at the first error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fillOrders(client *ent.Client, ids *snowfence.Generator) {
	client.Order.Use(hook.On(func(next ent.Mutator) ent.Mutator {
		return hook.OrderFunc(func(ctx context.Context, m *ent.OrderMutation) (ent.Value, error) {
			if _, given := m.ID(); !given {
				id, err := ids.Next(ctx)
				if err != nil {
					return nil, err
				}
				m.SetID(id)
			}
			return next.Mutate(ctx, m)
		})
	}, ent.OpCreate))
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

	fillOrders(client, ids)
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

	schema.Next = ids.Next
	line, err := client.Line.Create().SetName("a").Save(ctx)
	check(t, err)
	if line.ID <= one.ID {
		t.Errorf("line %v", line)
	}
	check(t, ids.Close())
	if _, err := client.Order.Create().SetName("late").Save(ctx); !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("an order without an ID: %v", err)
	}
	_, err = client.Line.Create().SetName("late").Save(ctx)
	if err == nil || !strings.Contains(err.Error(), "validator") {
		t.Errorf("a line without an ID: %v", err)
	}
}
