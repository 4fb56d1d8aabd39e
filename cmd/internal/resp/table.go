package resp

import (
	"cmp"
	"slices"
	"strings"
)

// newTable returns the commands, sorted by name.
func newTable() []*command {
	t := []*command{
		{name: "AUTH", arity: -2, anonymous: true, about: "Says who the client is, by a token.", run: auth},
		{name: "CLIENT", arity: -2, anonymous: true, about: "Names and shows connections.", run: client},
		{name: "COMMAND", arity: -1, anonymous: true, about: "Describes the commands.", group: "server", run: describe},
		{
			name: "DISCARD", arity: 1, atOnce: true, about: "Forgets what came since MULTI.", group: "transactions",
			run: discard,
		},
		{name: "ECHO", arity: 2, isQueueable: true, about: "Returns its argument.", run: echo},
		{
			name: "EXEC", arity: 1, atOnce: true, about: "Carries out what came since MULTI.", group: "transactions",
			run: exec,
		},
		{
			name: "GET", arity: 2, key: reads, about: "Returns the last number that was given out.", group: "string",
			run: get,
		},
		{name: "HELLO", arity: -1, anonymous: true, about: "Chooses the version of the protocol.", run: hello},
		{name: "INCR", arity: 2, key: writes, about: "Takes a number of a sequence.", group: "string", run: incr},
		{
			name: "INCRBY", arity: 3, key: writes, about: "Takes numbers of a sequence in a row, and returns the last.",
			group: "string", run: incrBy,
		},
		{name: "INFO", arity: -1, about: "Describes the server.", group: "server", run: info},
		{
			name: "MULTI", arity: 1, atOnce: true, about: "Queues commands until EXEC.", group: "transactions",
			run: multi,
		},
		{name: "PING", arity: -1, isQueueable: true, about: "Answers.", run: ping},
		{name: "QUIT", arity: -1, anonymous: true, atOnce: true, about: "Closes the connection.", run: quit},
		{
			name: "RESET", arity: 1, anonymous: true, atOnce: true,
			about: "Makes the connection what it was when it was new.", run: reset,
		},
		{name: "SELECT", arity: 2, about: "Takes 0, because there is one database.", run: selectDB},
		{
			name: "SNOWFENCE.DECODE", arity: 3, isQueueable: true, about: "Takes an ID apart.", group: "snowfence",
			run: decode,
		},
		{
			name: "SNOWFENCE.NEXT", arity: -2, isQueueable: true,
			about: "Returns one new ID, or COUNT of them, or their RUNS: first, last, step.",
			group: "snowfence", run: (*conn).next,
		},
		{
			name: "SNOWFENCE.RANGE", arity: 4, isQueueable: true,
			about: "Returns the first ID of a span of time, and the first one after it.",
			group: "snowfence", run: rangeOf,
		},
	}
	for _, name := range []string{"EXPIRE", "EXPIREAT", "PEXPIRE", "PEXPIREAT"} {
		t = append(t, &command{
			name: name, arity: -3, key: writes, about: "Answers 1 for a key with a period, which ends by itself.",
			group: "generic", run: expire,
		})
	}
	for _, name := range []string{"TTL", "PTTL"} {
		t = append(t, &command{
			name: name, arity: 2, key: reads, about: "Answers -1, because no key expires.", group: "generic", run: ttl,
		})
	}
	for _, c := range t {
		c.isQueueable = c.isQueueable || c.key != ""
		c.group = cmp.Or(c.group, "connection")
	}
	slices.SortFunc(t, func(a, b *command) int { return cmp.Compare(a.name, b.name) })
	return t
}

// findCommand looks a command up by its name, in any case.
func (s *Server) findCommand(name []byte) *command {
	var buf [32]byte
	if len(name) > len(buf) {
		return nil
	}
	up := append(buf[:0], name...)
	for i, b := range up {
		if b >= 'a' && b <= 'z' {
			up[i] = b - 'a' + 'A'
		}
	}
	i, ok := slices.BinarySearchFunc(s.table, string(up), func(c *command, name string) int {
		return cmp.Compare(c.name, name)
	})
	if !ok {
		return nil
	}
	return s.table[i]
}

// noSuchCommand says why a command of Redis is not one here, for those that
// people and libraries try; "" for others.
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
	}
	return ""
}
