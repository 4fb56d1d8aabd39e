package integrations

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	redisorders "github.com/snowfence/snowfence/integrations/internal/page/redis"
	"github.com/snowfence/snowfence/test/harness/servers"
)

type cached struct {
	ID   snowfence.ID `redis:"id"`
	User UserID       `redis:"user"`
}

// go-redis wrote 8 raw bytes of an ID, which no other client read, and
// refused typed IDs.
func TestRedisClients(t *testing.T) {
	const id snowfence.ID = 252407983798808577
	addr := servers.StartRedis(t).Address()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := t.Context()
	back, err := redisorders.Cache(ctx, rdb, id)
	if err != nil || back.ID != id {
		t.Errorf("%+v, %v", back, err)
	}
	check(t, rdb.Set(ctx, "id", id, 0).Err())
	check(t, rdb.Set(ctx, "user id", UserID(id), 0).Err())
	check(t, rdb.Set(ctx, "raw", "\x03\x80\xbb\xb9\x54\xcc\xf0\x01", 0).Err()) // as the first versions wrote it
	check(t, rdb.HSet(ctx, "fields", "id", id, "user", UserID(8)).Err())
	for _, key := range []string{"id", "user id"} {
		var plain snowfence.ID
		var typed UserID
		n := must(rdb.Get(ctx, key).Int64())
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
	client := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}))
	t.Cleanup(client.Close)
	check(t, client.Do(ctx, client.B().Set().Key("text").Value(id.String()).Build()).Error())
	n, err := client.Do(ctx, client.B().Get().Key("text").Build()).AsInt64()
	if snowfence.ID(n) != id || err != nil {
		t.Errorf("rueidis: %d, %v", n, err)
	}
}
