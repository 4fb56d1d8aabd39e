package resp

import (
	"strings"
)

// newTable returns the commands, sorted by name.
func newTable() []*command {
	t := []*command{
		{name: "AUTH", arity: -2, anonymous: true, run: auth},
		{name: "CLIENT", arity: -2, anonymous: true, run: client},
		{name: "COMMAND", arity: -1, anonymous: true, run: describe},
		{name: "DISCARD", arity: 1, atOnce: true, run: discard},
		{name: "ECHO", arity: 2, isQueueable: true, run: echo},
		{name: "EXEC", arity: 1, atOnce: true, run: exec},
		{name: "EXPIRE", arity: -3, key: writes, run: expire},
		{name: "EXPIREAT", arity: -3, key: writes, run: expire},
		{name: "GET", arity: 2, key: reads, run: get},
		{name: "HELLO", arity: -1, anonymous: true, run: hello},
		{name: "INCR", arity: 2, key: writes, run: incr},
		{name: "INCRBY", arity: 3, key: writes, run: incrBy},
		{name: "INFO", arity: -1, run: info},
		{name: "MULTI", arity: 1, atOnce: true, run: multi},
		{name: "PEXPIRE", arity: -3, key: writes, run: expire},
		{name: "PEXPIREAT", arity: -3, key: writes, run: expire},
		{name: "PING", arity: -1, isQueueable: true, run: ping},
		{name: "PTTL", arity: 2, key: reads, run: ttl},
		{name: "QUIT", arity: -1, anonymous: true, atOnce: true, run: quit},
		{name: "RESET", arity: 1, anonymous: true, atOnce: true, run: reset},
		{name: "SELECT", arity: 2, run: selectDB},
		{name: "SNOWFENCE.DECODE", arity: 3, isQueueable: true, run: decode},
		{name: "SNOWFENCE.NEXT", arity: -2, isQueueable: true, run: next},
		{name: "SNOWFENCE.RANGE", arity: -4, isQueueable: true, run: rangeOf},
		{name: "TTL", arity: 2, key: reads, run: ttl},
	}
	for _, c := range t {
		c.isQueueable = c.isQueueable || c.key != ""
	}
	return t
}

// noSuchCommand says why a command of Redis that people or libraries try is
// missing here; "" for others.
func noSuchCommand(name string) string {
	switch strings.ToUpper(name) {
	case "WATCH", "UNWATCH":
		return "there is nothing to watch, because a number that INCR answers is no other client's"
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PUBLISH":
		return "there are no channels here"
	case "SET", "GETSET", "SETNX", "SETEX", "PSETEX", "MSET", "MSETNX", "APPEND", "SETRANGE", "SETBIT":
		return "the keys here are sequences, which only INCR and INCRBY move: " +
			"\"snowfence sequence create NAME --start N\" makes one"
	case "DECR", "DECRBY":
		return "a sequence never goes back: \"snowfence sequence create NAME --step -1\" makes one that counts down"
	case "INCRBYFLOAT", "HINCRBY", "HINCRBYFLOAT", "ZINCRBY":
		return "the keys here are sequences of whole numbers: use INCR or INCRBY"
	case "DEL", "UNLINK", "GETDEL":
		return "the keys here are sequences: \"snowfence sequence delete NAME\" ends one"
	case "EXISTS", "MGET", "GETEX", "KEYS", "SCAN", "TYPE", "DBSIZE", "PERSIST", "EXPIRETIME", "PEXPIRETIME":
		return "the keys here are sequences, for INCR, INCRBY, GET and TTL: \"snowfence sequence list\" shows all"
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT", "FCALL", "FCALL_RO", "FUNCTION":
		return "there are no scripts here, and INCR needs none: in a key of a dated sequence, such as name:20261122, " +
			"numbers begin again by themselves"
	case "CLUSTER", "SENTINEL", "READONLY":
		return "this is one server: use the client's plain mode, without cluster or sentinels"
	}
	return ""
}
