package workerid

import (
	"strings"
	"testing"
	"time"
)

// A TTL that nobody had set was called "the TTL is 0s", as if somebody had said so.
func TestTTLThatIsNotSet(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		0:                       "the TTL is not set (LifeTimeSeconds of a RegisterConf): set it to 15 s",
		999 * time.Millisecond:  "the TTL is 999ms: it must be at least 3s",
		2999 * time.Millisecond: "the TTL is 2.999s: it must be at least 3s",
		-time.Second:            "the TTL is -1s: it must be at least 3s",
	} {
		if _, err := newRegistrar(newSimulated(), &Options{Max: 1, TTL: ttl}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}
