package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/rueidis"
)

// Claim returns a check of node numbers, as Sonyflake's CheckMachineID: each number is put into a set of Redis, and one that was there already is
// refused. It is meant for numbers that come from elsewhere, such as an address:
//
//	check := redisstore.Claim(client, "ids:nodes")
//	if err := check(ctx, node); err != nil { … }
//
// or as Options.Check of a lease, which then leases only numbers that no program outside of the store has claimed.
//
// A set forgets nothing: nobody takes a number out again after a crash, so that the program is refused its own number at the next start, until somebody calls
// [Unclaim]. And it proves nothing: whoever takes the number of a program that still runs, or loses the set (a restart without
// persistence, a failover), lets two programs have one number. Only a lease keeps them apart. An error that is no refusal may have claimed the number.
//
// The check that is returned is safe for concurrent use, and allows a number again that it has claimed itself.
func Claim(c rueidis.Client, key string) func(ctx context.Context, node int64) error {
	var mine sync.Map
	return func(ctx context.Context, node int64) error {
		if _, ok := mine.Load(node); ok {
			return nil
		}
		n, err := c.Do(ctx, c.B().Sadd().Key(key).Member(strconv.FormatInt(node, 10)).Build()).AsInt64()
		if err != nil {
			return fmt.Errorf("redisstore: claiming node %d in %q: %w", node, key, advise(err))
		}
		if n == 0 {
			return fmt.Errorf("redisstore: node %d is claimed in %q: if its program has ended for sure, redis-cli SREM %s %d", node, key, key, node)
		}
		mine.Store(node, true)
		return nil
	}
}

// Unclaim takes a number out of the set that [Claim] fills, when its program has ended and its last ID is in the past.
func Unclaim(ctx context.Context, c rueidis.Client, key string, node int64) error {
	if err := c.Do(ctx, c.B().Srem().Key(key).Member(strconv.FormatInt(node, 10)).Build()).Error(); err != nil {
		return fmt.Errorf("redisstore: releasing node %d in %q: %w", node, key, advise(err))
	}
	return nil
}
