//go:build snowfence_no_redis

package open

import "context"

// Counters are left out.
type Counters struct{}

func openRedis(_ context.Context, a *address, _ func(string) string) (*Store, error) {
	return nil, a.leftOut("redis")
}

// OpenCounters says that they are left out.
func OpenCounters(context.Context, string, func(name string) string) (*Counters, error) {
	return nil, (&address{scheme: "redis"}).leftOut("redis")
}

func (*Counters) Hide(text string) string { return text }

func (*Counters) Close() {}

func (*Counters) Find(context.Context, string) (map[string]int64, error) { return nil, nil }

func (*Counters) Stop(context.Context, string) (int64, error) { return 0, nil }
