package integrations

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

type cached struct {
	ID   snowfence.ID `redis:"id"`
	User UserID       `redis:"user"`
}

func cacheOrder(ctx context.Context, rdb *redis.Client, id snowfence.ID, user UserID) (back cached, err error) {
	if err := rdb.HSet(ctx, "order", cached{id, user}).Err(); err != nil {
		return back, err
	}
	return back, rdb.HGetAll(ctx, "order").Scan(&back)
}

func cacheUser(ctx context.Context, client rueidis.Client, id snowfence.ID) (snowfence.ID, error) {
	set := client.B().Hset().Key("user").FieldValue().FieldValue("id", id.String()).Build()
	if err := client.Do(ctx, set).Error(); err != nil {
		return 0, err
	}
	n, err := client.Do(ctx, client.B().Hget().Key("user").Field("id").Build()).AsInt64()
	return snowfence.ID(n), err
}

// go-redis wrote 8 raw bytes of an ID, which no other client read, and refused typed IDs.
func TestRedisClients(t *testing.T) {
	const id snowfence.ID = 252407983798808577
	addr := servers.StartRedis(t).Address()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := t.Context()
	back, err := cacheOrder(ctx, rdb, id, 7)
	if err != nil || back != (cached{id, 7}) {
		t.Errorf("%+v, %v", back, err)
	}
	check(t, rdb.Set(ctx, "id", id, 0).Err())
	check(t, rdb.Set(ctx, "user id", UserID(id), 0).Err())
	check(t, rdb.Set(ctx, "raw", "\x03\x80\xbb\xb9\x54\xcc\xf0\x01", 0).Err()) // as the first versions wrote it
	check(t, rdb.HSet(ctx, "fields", "id", id, "user", UserID(8)).Err())
	for _, key := range []string{"id", "user id"} {
		var plain snowfence.ID
		var typed UserID
		n, err := rdb.Get(ctx, key).Int64()
		check(t, err)
		check(t, rdb.Get(ctx, key).Scan(&plain))
		check(t, rdb.Get(ctx, key).Scan(&typed))
		if snowfence.ID(n) != id || plain != id || typed != UserID(id) {
			t.Errorf("%s: %d, %d, %d", key, n, plain, int64(typed))
		}
	}
	var raw snowfence.ID
	if err := rdb.Get(ctx, "raw").Scan(&raw); err != nil || raw != id {
		t.Errorf("8 bytes are %d, %v", raw, err)
	}
	var fields cached
	if err := rdb.HGetAll(ctx, "fields").Scan(&fields); err != nil || fields != (cached{id, 8}) {
		t.Errorf("%+v, %v", fields, err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	check(t, err)
	t.Cleanup(client.Close)
	if n, err := cacheUser(ctx, client, id); n != id || err != nil {
		t.Errorf("rueidis: %d, %v", n, err)
	}
}
