package lease

import "time"

// DefaultTTL is Options.TTL where that is 0. Options.MaxSkew is the same as the ttl where it is 0.
const DefaultTTL = 15 * time.Second

// usualReach is how far ahead of the true time leases write by default: what is taken for the longest where none is known.
const usualReach = DefaultTTL + DefaultTTL

// AfterSetBack returns how long everything that was granted before can reach on, when a store went back to an older state: the
// longest ttl of all leases, and twice their MaxSkew, since the clock of who granted may have been ahead and that of who grants
// next may be behind. New grants start above that, where the set-back is noticed. Where it cannot be seen, wait as long before
// the first program starts.
func AfterSetBack(ttl, maxSkew time.Duration) time.Duration { return reach(ttl, maxSkew) + maxSkew }

// reach is how far ahead of the true time a lease may write, as far as its clock is within the allowed skew.
func reach(ttl, maxSkew time.Duration) time.Duration { return ttl + maxSkew }
