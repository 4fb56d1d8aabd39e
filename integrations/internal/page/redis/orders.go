package orders

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/snowfence/snowfence"
)

type Cached struct {
	ID snowfence.ID `redis:"id"`
}

func Cache(ctx context.Context, rdb *redis.Client, id snowfence.ID) (back Cached, err error) {
	if err := rdb.HSet(ctx, "order", Cached{id}).Err(); err != nil {
		return back, err
	}
	return back, rdb.HGetAll(ctx, "order").Scan(&back)
}
