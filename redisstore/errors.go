package redisstore

import (
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease/store"
)

// lacksRight lists the rights of an ACL user, as in the package comment.
const lacksRight = "the user lacks a right: ACL SETUSER name ~snowfence:* +eval +evalsha +info +hset +hmget +zadd " +
	"+zrangebylex +expire +persist +sadd +smembers +time +wait +config|get (with your Options.Prefix)"

// hints say what to do about an error of Redis that contains a text.
var hints = []struct{ text, hint string }{
	{"NOAUTH", "the server wants a password: give the client a user name and password"},
	{"WRONGPASS", "the user name or the password is wrong, or the user is disabled"},
	{"_ro' command", "the user lacks a right: a store that only reads also needs +eval_ro +evalsha_ro"},
	{"'waitaof' command", "the user lacks a right: Options.AOF also needs +waitaof"},
	{"NOPERM", lacksRight},
	{"can't run this command or subcommand", lacksRight},
	{"No permissions to access a key", lacksRight},
	{"READONLY", "the client talks to a replica: connect to the master, through Sentinel or as a cluster; after " +
		"a failover this passes"},
	{"OOM", "the server is out of memory: raise maxmemory or delete other keys, and leases go on by themselves"},
	{"MISCONF", "the server cannot write to its disk and so refuses writes: see its log, make room; leases then " +
		"go on by themselves"},
	{"NOREPLICAS", "the server has fewer replicas than its min-replicas-to-write: start them, or lower it"},
	{"LOADING", "the server loads its data: wait, leases go on by themselves"},
	{"BUSY ", "a script or function keeps the server busy: see SCRIPT KILL, and which client sends it"},
	{"CLUSTERDOWN", "the cluster is down, or no server has the slot: see CLUSTER INFO and CLUSTER NODES; leases " +
		"go on when it is up"},
	{"TRYAGAIN", "the slot moves to another server: leases go on when it has arrived"},
	{"MASTERDOWN", "the server is a replica without its master"},
	{"not allowed from script", "the server does not let scripts ask for INFO: it is not Redis 6.2 or later, or " +
		"its provider forbids it; use another store"},
	{"_RO'", "the server is older than Redis 7, which reading only needs"},
	{"unknown command", "the server does not know the command: it is not Redis 6.2 or later, or its provider " +
		"forbids it"},
}

// serverError is an error of the server with advice, and without the
// arguments.
type serverError struct {
	text string
	err  error
}

// failure adds to an error its source, which others may read, and advice.
func failure(where string, err error) error {
	err = advise(err)
	return &store.Failure{Err: err, Text: where + ": " + err.Error(), Public: where}
}

// advise puts what to do before an error, if known. It cuts off arguments
// that servers repeat, because one may be a password.
func advise(err error) error {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	text, _, _ := strings.Cut(e.Error(), ", with args beginning with")
	if strings.Contains(text, "not allowed from read-only scripts") {
		return fmt.Errorf("the store was not used since the server was started, and the first use writes: %w",
			store.ErrReadOnly)
	}
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			text = h.hint + ": " + text
			break
		}
	}
	return &serverError{text, err}
}

func (e *serverError) Error() string { return e.text }

// Unwrap returns what rueidis returned.
func (e *serverError) Unwrap() error { return e.err }
