//go:build snowfence_no_redis

package open

import "context"

func openRedis(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.leftOut("redis")
}
