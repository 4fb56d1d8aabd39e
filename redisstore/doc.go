// Package redisstore keeps leases in Redis: a [store.Store] over your rueidis client.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
//	ids, err := redisstore.Open(ctx, client, nil)
//	id, err := ids.Next(ctx)
//
// The same client type speaks to a single server, to servers behind Sentinel, and to a
// cluster, with TLS and users. With ClientOption.Sentinel set TopologyRefreshInterval to
// some seconds: a client that missed the message of a failover otherwise stays with the old
// master. Redis 6.2 or later is needed.
//
// # Best effort
//
// Redis is the only store of Snowfence that does not keep its word by itself. It
// acknowledges writes before they are on a disk (unless appendfsync is always) and before
// any replica has them, and a failover drops what the new master lacks. IDs stay unique as
// far as that can be noticed:
//
//   - A holder whose record vanished, went back or was changed is sealed at its next
//     renewal, and all next grants start above all earlier ones.
//   - Data that may have been rolled back has another identity (see below). A program that takes a
//     node then starts above now + the longest ttl + twice the largest skew. That is also
//     how long no IDs are made after a restart or a failover, about 45 s with the defaults;
//     a shorter TTL makes it shorter. lease.Operator.Confirm spares it where surely nothing was
//     lost.
//   - With Options.Replicas, a renewal is used only after that many replicas have it, so a
//     master cut off from them stops its holders within one ttl.
//
// What cannot be seen:
//
//   - Two masters at a time (a partition, a promotion by hand) where Options.Replicas is 0,
//     because each one's clients see nothing strange. Set it to 1 at least. Set it to all
//     replicas that can be promoted if the new master must know every grant that was used.
//   - Old data under a process that did not end, as after the snapshot of a virtual
//     machine, until a holder's next renewal.
//   - Keys that are deleted or edited by hand. After a FLUSHALL, make the namespace
//     again only when the last holder's ttl is over; otherwise old and new holders both go
//     on until the old ones' next renewal.
//
// If that is not good enough, PostgreSQL, MySQL and etcd are stores that keep their word.
//
// # Settings of the server
//
// maxmemory-policy must be noeviction. Others are refused at the first use, when the server
// changes, and within a minute of a change. The store logs what a crash loses
// ([Store.Server], Server.Loses): nothing with appendonly yes and appendfsync always; up to
// two seconds with everysec; without a file, everything since the last snapshot. Keys never
// expire. Beside what its client needs to connect (+hello +auth +ping +client, in a cluster
// +cluster|slots +cluster|shards) a user needs:
//
//	ACL SETUSER ids on >PASSWORD ~snowfence:* +eval +evalsha +info +hset +hmget +zadd
//	  +zrangebylex +sadd +smembers +time +wait +config|get
//
// The last two are for Options.Replicas and for appendfsync, which is unknown without;
// Options.AOF needs +waitaof from Redis 7.2 on.
//
// # What lies in Redis
//
// A namespace has one hash tag, and so one server of a cluster: snowfence:{NAME}:records is
// a hash of its records by node, and :nodes is a sorted set of these nodes.
// snowfence:{@}:namespaces is the set of
// names. In a cluster it may be on another server, so each process adds a name before it
// writes the first record. No namespace with grants is missing unless that server loses the
// set.
//
// # Identity
//
// :meta says who the data is: a random name, the run_id of the server's process and its
// master_replid2. Each script compares them with INFO and returns the name. It makes a new
// name if there is none (first use, FLUSHALL), if the process is another one (restart,
// failover, a file put back), or if master_replid2 became another replid (the process was a
// replica in between, with data from elsewhere). master_replid alone will not do: it also
// changes when the first replica comes, and an hour after the last one went. Nor can a
// restart with appendfsync always be trusted: an old file put back looks the same. Not seen
// is a process that was demoted and promoted again if no program looked for an hour
// (repl-backlog-ttl) after that.
//
// # Results that are not known
//
// The invariant of a swap: it is sent to a server that may run it at most once. (rueidis
// resends commands that write only when the server said that it did not run them, as with
// MOVED, and so does this package with NOSCRIPT.) So [store.ErrLost] always means that the
// write was not done and never will be. After a failed connection, or too few
// acknowledgements, the result is another error, and the record may be either. A repeated
// swap that finds its own nonce must not answer "done": another process may have swapped in
// between, and a write that was done would then be reported as lost.
package redisstore
