//go:build !snowfence_no_redis

package open

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// Counters are the keys in Redis that programs raise by INCR.
type Counters struct {
	client rueidis.Client
	at     *address
}

// OpenCounters opens a Redis of other programs, by a URL as stores have it.
// env knows its password by the name that a store's has.
func OpenCounters(ctx context.Context, rawURL string, env func(name string) string) (*Counters, error) {
	if scheme, _, _ := strings.Cut(rawURL, ":"); !strings.HasPrefix(scheme, "redis") {
		return nil, fmt.Errorf("%w of the counters: write redis://HOST:6379", ErrURL)
	}
	p, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	client, _, _, _, err := p.address.connectRedis(ctx, env)
	if err != nil {
		return nil, err
	}
	return &Counters{client, p.address}, nil
}

// Hide returns a text without the passwords of Redis.
func (c *Counters) Hide(text string) string { return c.at.secrets.hideIn(text) }

// Close closes the connections.
func (c *Counters) Close() { c.client.Close() }

// Find returns the last number of each counter with a key that fits a
// pattern of SCAN. It is an error if one of the keys has no number.
func (c *Counters) Find(ctx context.Context, pattern string) (map[string]int64, error) {
	keys := map[string]bool{}
	for _, node := range c.client.Nodes() {
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()).AsScanEntry()
			if err != nil {
				return nil, c.at.wrapError(fmt.Errorf("looking for keys: %w", err))
			}
			cursor = page.Cursor
			for _, key := range page.Elements {
				keys[key] = true
			}
		}
	}
	last := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		text, err := c.client.Do(ctx, c.client.B().Get().Key(key).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			continue // it expired meanwhile
		}
		if err == nil {
			last[key], err = strconv.ParseInt(strings.TrimPrefix(text, moved), 10, 64)
		}
		if err != nil {
			return nil, c.at.wrapError(fmt.Errorf(
				"key %q holds no number that INCR counts: use a pattern without it (%w)", key, err))
		}
	}
	return last, nil
}

// moved stands before the last number of a counter that was stopped. INCR
// refuses such a value.
const moved = "moved at "

// stopCounter ends a counter in one step, and leaves the time at which its
// key expires.
const stopCounter = `local v = redis.call('GET', KEYS[1])
if v and string.match(v, '^-?%d+$') then
  v = ARGV[1] .. v
  redis.call('SET', KEYS[1], v, 'KEEPTTL')
end
return v`

// Stop ends a counter, so that each later INCR is an error, and returns its
// last number. It may be repeated. A key that expired is an error.
func (c *Counters) Stop(ctx context.Context, key string) (last int64, err error) {
	stop := c.client.B().Eval().Script(stopCounter).Numkeys(1).Key(key).Arg(moved).Build()
	text, err := c.client.Do(ctx, stop).ToString()
	if err == nil {
		text, _ = strings.CutPrefix(text, moved)
		last, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		return 0, c.at.wrapError(fmt.Errorf("stopping the counter %q: %w", key, err))
	}
	return last, nil
}
