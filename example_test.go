package snowfence_test

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

func ExampleScheme_Decode() {
	scheme, _ := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	parts, err := scheme.Decode(2083727055179621056)
	fmt.Println(parts.Time.Format(time.RFC3339Nano), scheme.NodeParts(parts.Node), parts.Sequence, err)
	// Output: 2026-08-02T01:30:18.388Z [13 2] 704 <nil>
}

// The IDs of a day, for WHERE id >= lo AND id < hi.
func ExampleScheme_Range() {
	scheme, _ := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	day := time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC)
	lo, hi, err := scheme.Range(day, day.AddDate(0, 0, 1))
	fmt.Println(lo, hi, err)
	// Output: 2083704328811446272 2084066716677046272 <nil>
}

// Text forms are values, as in encoding/base64.
func ExampleEncoding() {
	const id snowfence.ID = 2083727055179621056
	fmt.Println(snowfence.Base58.Encode(id), snowfence.Crockford.Encode(id), snowfence.Decimal.Fixed().Encode(id))
	// Output: 5qY6jMw9N8P 1STQ2PXTDM8P0 02083727055179621056
}

// Encrypted IDs spread evenly over shards, by remainder as well as by
// range; take them as unsigned numbers.
func Example_shardKey() {
	key, _ := snowfence.NewSecret(make([]byte, 16))
	scheme, _ := snowfence.NewScheme(snowfence.Randflake(), key)
	shards := [4]int{}
	for seq := range int64(100_000) {
		id, _ := scheme.Compose(snowfence.Parts{Tick: 1, Node: 0, Sequence: seq}) // one second, one node
		shards[uint64(id)%4]++
	}
	for _, n := range shards {
		fmt.Print(n > 24_000 && n < 26_000, " ")
	}
	// Output: true true true true
}
