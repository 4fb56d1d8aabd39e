package resp

import "strings"

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
