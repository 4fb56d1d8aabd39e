package integrations

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/snowfence/snowfence"
	bunorders "github.com/snowfence/snowfence/integrations/internal/page/bun"
	"github.com/snowfence/snowfence/integrations/internal/shop"
)

func createOrder(ctx context.Context, queries *shop.Queries, ids *snowfence.Generator) (snowfence.ID, error) {
	id, err := ids.Next(ctx)
	if err != nil {
		return 0, err
	}
	return id, queries.CreateOrder(ctx, shop.CreateOrderParams{ID: id, Name: "first"})
}

func testSqlc(t *testing.T, url string) {
	ctx, conn, ids := t.Context(), connect(t, url), newIDs(t)
	must(conn.Exec(ctx, shop.Schema))

	queries := shop.New(conn)
	id := must(createOrder(ctx, queries, ids))
	got, err := queries.GetOrder(ctx, id)
	if err != nil || got.ID != id || got.Parent != nil || got.Name != "first" {
		t.Errorf("read %+v, %v", got, err)
	}
	more := make([]snowfence.ID, 10)
	must(ids.Fill(ctx, more))
	var rows []shop.CopyOrdersParams
	for _, m := range more {
		rows = append(rows, shop.CopyOrdersParams{ID: m, Parent: &id})
	}
	n := must(queries.CopyOrders(ctx, rows))
	list, err := queries.ListOrders(ctx, []int64{int64(more[3]), int64(id)})
	if err != nil || n != 10 || len(list) != 2 || list[1].ID != more[3] || *list[1].Parent != id {
		t.Errorf("copied %d, read %+v, %v", n, list, err)
	}
}

func testBun(t *testing.T, url string) {
	ids := newIDs(t)
	ctx := bunorders.WithIDs(t.Context(), ids)
	db := bun.NewDB(openSQL(t, url), pgdialect.New())
	must(db.ExecContext(ctx, tables))

	one := &bunorders.Order{Name: "one"}
	must(db.NewInsert().Model(one).Exec(ctx))
	parent := one.ID
	many := []*bunorders.Order{{Name: "two", Parent: &parent}, {ID: 9, Name: "nine"}}
	must(db.NewInsert().Model(&many).Exec(ctx))
	var back []bunorders.Order
	both := bun.List([]snowfence.ID{one.ID, many[0].ID})
	check(t, db.NewSelect().Model(&back).Where("id IN (?)", both).Order("id").Scan(ctx))
	if len(back) != 2 || back[0].ID != one.ID || *back[1].Parent != parent || many[1].ID != 9 {
		t.Errorf("read %+v", back)
	}
	var users []UserID
	err := db.NewRaw("SELECT ?", pgdialect.Array([]UserID{4, -5})).Scan(ctx, pgdialect.Array(&users))
	if err != nil || len(users) != 2 || users[1] != -5 {
		t.Errorf("read %v, %v", users, err)
	}
	check(t, ids.Close())
	_, err = db.NewInsert().Model(&bunorders.Order{Name: "late"}).Exec(ctx)
	if !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("an insert without an ID: %v", err)
	}
}

var _ shop.DBTX = (*pgx.Conn)(nil)
