package resp

import (
	"cmp"
	"slices"
	"strings"
)

// newTable returns the commands, sorted by name.
func newTable() []command {
	t := []command{
		{"AUTH", -2, true, "Says who the client is, by a token.", "connection", auth},
		{"CLIENT", -2, true, "Names and shows connections.", "connection", client},
		{"COMMAND", -1, true, "Describes the commands.", "server", describe},
		{"ECHO", 2, false, "Returns its argument.", "connection", echo},
		{"HELLO", -1, true, "Chooses the version of the protocol.", "connection", hello},
		{"INFO", -1, false, "Describes the server.", "server", info},
		{"PING", -1, false, "Answers.", "connection", ping},
		{"QUIT", -1, true, "Closes the connection.", "connection", quit},
		{"RESET", 1, true, "Makes the connection what it was when it was new.", "connection", reset},
		{"SELECT", 2, false, "Takes 0, because there is one database.", "connection", selectDB},
		{"SNOWFENCE.DECODE", 3, false, "Takes an ID apart.", "snowfence", decode},
		{
			"SNOWFENCE.NEXT", -2, false, "Returns one new ID, or COUNT of them, or their RUNS: first, last, step.",
			"snowfence", (*conn).next,
		},
		{
			"SNOWFENCE.RANGE", 4, false, "Returns the first ID of a span of time, and the first one after it.",
			"snowfence", rangeOf,
		},
	}
	slices.SortFunc(t, func(a, b command) int { return cmp.Compare(a.name, b.name) })
	return t
}

// find looks a command up by its name, in any case.
func (s *Server) find(name []byte) *command {
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
	i, ok := slices.BinarySearchFunc(s.table, string(up), func(c command, name string) int {
		return cmp.Compare(c.name, name)
	})
	if !ok {
		return nil
	}
	return &s.table[i]
}

// noSuchCommand says why a command of Redis is not one here, for those that people and libraries
// try; "" for others.
func noSuchCommand(name string) string {
	switch strings.ToUpper(name) {
	case "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH":
		return "there are no transactions here, and nothing to make atomic: send a pipeline"
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PUBLISH":
		return "there are no channels here"
	case "GET", "SET", "DEL", "EXISTS", "INCR", "INCRBY", "MGET", "MSET", "KEYS", "SCAN":
		return "there are no keys here: SNOWFENCE.NEXT namespace makes an ID"
	case "EVAL", "EVALSHA", "SCRIPT", "FCALL", "FUNCTION":
		return "there are no scripts here"
	}
	return ""
}
