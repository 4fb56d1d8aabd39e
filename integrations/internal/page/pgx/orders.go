package orders

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/snowfence/snowfence/integrations/pgxid"
)

func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		pgxid.Register(c.TypeMap())
		return nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}
