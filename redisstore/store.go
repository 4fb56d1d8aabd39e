// Package redisstore keeps leases in Redis: an implementation of [lease.Store] over the caller's rueidis client.
package redisstore

import (
	"github.com/redis/rueidis"
)

// Store keeps leases in Redis.
type Store struct{ client rueidis.Client }
