// Package redisstore keeps leases in Redis: an implementation of [lease.Store] over the
// caller's rueidis client.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
//	st, err := redisstore.New(client, nil)
//	l, err := lease.Open(ctx, st, "default", scheme, nil)
//
// The same client type speaks to a single server, to servers behind Sentinel
// (ClientOption.Sentinel; set TopologyRefreshInterval to some seconds, because a client
// that missed the message of a failover otherwise stays with the old master), and to a
// cluster, with TLS and users. Redis 6.2 or later is needed.
//
// # Best effort
//
// Redis is the only store of Snowfence that does not keep its word by itself: it
// acknowledges writes before they are on a disk (unless appendfsync is always) and before
// any replica has them, and a failover throws away what the new master had not got. IDs
// stay unique through that as far as it can be noticed:
//
//   - A holder whose record vanished, went back or was changed is sealed at its next
//     renewal, and everybody's next grants start above all that can have been granted.
//   - Data that may have been rolled back has another identity (see below). Whoever takes
//     a node then, holder or newcomer, starts above now + the longest ttl + twice the
//     allowed skew. That is also how long no IDs are made after a restart or a failover,
//     about 45 s with the defaults: a shorter TTL makes it shorter. lease.ConfirmStore
//     spares it where nothing was lost for sure.
//   - With Options.Replicas, a renewal is used only after that many replicas have it, so
//     that a master cut off from them stops its holders within one ttl.
//
// What cannot be seen: two masters at a time (a partition, a promotion by hand) where
// Options.Replicas is 0, because the clients of each see nothing strange: set it to 1 at
// least, and to all replicas that can be promoted if no grant that was used may be
// missing from the new master. Old data under a process that did not end, as after the
// snapshot of a virtual machine, until the next renewal of a holder. And keys that
// somebody deletes or edits by hand: after a FLUSHALL, make the namespace again only when
// the last holder's ttl is over, or both the old holders and the new ones go on until the
// old ones' next renewal. If that is not good enough, PostgreSQL, MySQL and etcd are
// stores that keep their word.
//
// # Settings of the server
//
// maxmemory-policy must be noeviction: others are refused, at the first use, when the
// server changes, and within a minute of a change. What a crash loses is found out and
// logged ([Store.Server], Server.Loses): with appendonly yes and appendfsync always
// nothing; with everysec up to two seconds; without a file everything since the last
// snapshot. Keys never expire. A user needs, beside what its client needs to connect
// (+hello +auth +ping +client, in a cluster +cluster|slots +cluster|shards):
//
//	ACL SETUSER ids on >PASSWORD ~snowfence:* +eval +evalsha +info +hset +hmget +zadd +zrem
//	  +zrangebylex +zlexcount +sadd +smembers +time +wait +config|get
//
// The last two are for Options.Replicas and for knowing appendfsync, which is taken for
// unknown without; Options.AOF needs +waitaof from Redis 7.2 on.
//
// # What lies in Redis
//
// A namespace has one hash tag, and so one server of a cluster: snowfence:{NAME}:records
// is a hash of all its records by node, and :nodes, :until, :vacant and :labels are
// sorted sets over it, which the script that swaps keeps in step.
// snowfence:{@}:namespaces is the set of their names. In a cluster it may be on another
// server; a name is put there before the first record is written, by each process, so
// that no namespace with grants is missing from it unless that server loses it.
//
// # Identity
//
// :meta says who the data is: a random name, the run_id of the server's process and its
// master_replid2. Each script compares them with what INFO says, returns the name, and
// makes a new one if there is none (first use, FLUSHALL), if the process is another one
// (restart, failover, a file put back), or if master_replid2 became another replid (the
// same process was a replica in between, with data from elsewhere). Why not master_replid
// alone: Redis also changes it when the first replica comes, and an hour after the last
// one went, when nothing is lost. Why not trust a restart with appendfsync always: an old
// file that was put back looks the same. Not seen is a process that was demoted and
// promoted again if nobody looked for an hour (repl-backlog-ttl) after that.
//
// # Results that are not known
//
// The invariant of a swap: it is sent to a server that may run it at most once. (rueidis
// sends commands that write again only when the server said that it did not run them, as
// with MOVED, and so does this package with NOSCRIPT.) So [lease.ErrLost] always means
// that this write was not done and never will be; after a connection that failed, or too
// few acknowledgements, the result is another error, and the record may be either. To
// answer "done" to a repeated swap that finds its own nonce would not be enough: somebody
// else may have swapped in between, and then a write that was done would be reported as
// lost.
package redisstore
