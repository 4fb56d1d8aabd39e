// Package redisstore keeps leases in Redis: a [store.Store] over your
// rueidis client.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
//	ids, err := redisstore.Open(ctx, client, nil)
//	id, err := ids.Next(ctx)
//
// The same client type connects to a single server, to servers behind
// Sentinel, and to a cluster, with TLS and users. Set ConnWriteTimeout to
// two seconds, so that the client gives up a connection that went silent.
// With ClientOption.Sentinel, set TopologyRefreshInterval to some seconds:
// otherwise a client that missed the message of a failover stays with the
// old master. The store needs Redis 6.2 or later.
//
// # Best effort
//
// Redis is the only store of Snowfence that can itself lose writes that it
// acknowledged. It acknowledges them before they are on a disk (unless
// appendfsync is always) and before any replica has them, and a failover
// drops those that the new master lacks. IDs stay unique as far as the
// store notices a loss:
//
//   - A holder seals itself at its next renewal if its record vanished,
//     went back or was changed, and all later grants start above all
//     earlier ones.
//   - Data that may have been rolled back has another identity (see below).
//     A program that then takes a node starts above now + the longest ttl +
//     twice the largest skew. So after a restart or a failover it makes no
//     IDs for that time: about 45 s with the defaults, and less with a
//     shorter TTL. If surely nothing was lost, scope.Operator.Confirm
//     avoids the wait.
//   - With Options.Replicas, a renewal is used only after that many
//     replicas have it, so the holders of a master that has fewer stop
//     within one ttl.
//
// The store does not notice:
//
//   - Two masters at a time (a partition, a promotion by hand), because the
//     clients of each master see no difference. Set Options.Replicas to the
//     number of all replicas that can be promoted: the old master then
//     misses an answer, and the new one knows every grant that was used.
//   - Old data under a Redis process that did not restart, such as in a
//     virtual machine that goes on from a snapshot, until a holder's next
//     renewal.
//   - Keys that are deleted or edited by hand. After a FLUSHALL, create the
//     namespace again only when the last holder's ttl is over. Otherwise
//     old and new holders both make IDs until the old ones renew.
//
// If you need more, use PostgreSQL, MySQL or etcd: they keep the writes
// that they acknowledged.
//
// # Settings of the server
//
// maxmemory-policy must be noeviction. The store refuses any other at the
// first use, when the server changes, and within a minute after the setting
// changes. It logs which writes a crash would lose ([Store.Server],
// Server.Loses): nothing with appendonly yes and appendfsync always; up to
// two seconds with everysec; without a file, everything since the last
// snapshot. The key of a name without records ends after a minute, others
// never. Beside the rights of its client to connect (+hello +auth +ping
// +client, in a cluster +cluster|slots +cluster|shards), a user needs:
//
//	ACL SETUSER ids on >PASSWORD ~snowfence:* +eval +evalsha +info +hset +hmget +zadd
//	  +zrangebylex +expire +persist +sadd +smembers +time +wait +config|get
//
// +wait is for Options.Replicas. +config|get is for reading appendfsync,
// which is otherwise unknown. Options.AOF also needs +waitaof from Redis
// 7.2 on, and Options.ReadOnly +eval_ro and +evalsha_ro.
//
// # Keys
//
// The keys of a namespace have one hash tag, and so lie on one server of a
// cluster: snowfence:{NAME}:records is a hash of its records by node, and
// :nodes is a sorted set of these nodes. snowfence:{@}:namespaces is the
// set of names. In a cluster this set may be on another server, so each
// process adds a name before it writes the first record. The set has all
// namespaces with grants, unless its server loses it.
//
// # Identity
//
// The key :meta identifies the data: it holds a random name, the run_id of
// the server's process and its master_replid2. Each script compares the
// last two with INFO and returns the name. It makes a new name in three
// cases: there is none (first use, FLUSHALL), the process is another one
// (restart, failover, a file put back), or master_replid2 is another replid
// (the process was a replica in between, with data from elsewhere).
// master_replid alone is not enough: it also changes when the first replica
// connects, and an hour after the last one has left. Even with appendfsync
// always, a restart changes the name, because an old file that was put back
// looks the same. The store does not notice a process that was demoted and
// promoted again if no program asked for an hour (repl-backlog-ttl) after
// that.
//
// # Unknown results
//
// The invariant of a swap: at most one request for it reaches a server that
// may run it. rueidis resends a command that writes only if the server said
// that it did not run it, as with MOVED, and this package resends only
// after NOSCRIPT. So [store.ErrLost] always means that the write was not
// done and never will be. After a failed connection, or too few
// acknowledgements, the error is another one, and the write may have been
// done or not. The store cannot repeat a swap and answer "done" when it
// finds its own nonce: if another process swapped in between, it would
// report a write that was done as lost.
package redisstore
