package resp

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/sequence"
)

// No command reaches the record of a sequence by the key that it has in the store.
func TestKeysOfRecordsAreRefused(t *testing.T) {
	addr := counting(t, Config{}, map[string]sequence.Definition{
		"orders": {}, "bills": {Pattern: "{year}{month}{day}-{n}"},
	})
	p := dial(t, addr)
	for _, key := range []string{"#orders", "#orders:20261122", "#bills:20261122", "#bills.20261122", "##orders", "#"} {
		for _, command := range []string{
			"INCR KEY", "INCRBY KEY 5", "GET KEY", "TTL KEY", "EXPIRE KEY 60", "SNOWFENCE.NEXT KEY", "SNOWFENCE.DECODE KEY 1",
			"SNOWFENCE.RANGE KEY 1 2",
		} {
			p.says(strings.Replace(command, "KEY", key, 1), "ERR")
		}
	}
	p.says("SET #orders 5", "ERR")
	p.says("DEL #orders", "ERR")
	p.says("GET orders", nil)
	p.says("INCR orders", int64(1))
}
