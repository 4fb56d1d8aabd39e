package snowfence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/snowfence/snowfence"
)

// The processes of one machine share a folder, and each has a node of its own.
func ExampleOpen() {
	ids, err := snowfence.Open("/var/lib/app/ids")
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()
	id, err := ids.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

// A fixed node on one machine: the file makes the number safe over restarts.
func ExampleStateFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		panic(err)
	}
	fence, err := snowfence.StateFile(filepath.Join(dir, "node"), scheme, 5)
	if err != nil {
		panic(err)
	}
	ids, err := snowfence.New(snowfence.Config{Fence: fence})
	if err != nil {
		panic(err)
	}
	defer ids.Close()

	id, err := ids.Next(context.Background())
	if err != nil {
		panic(err)
	}
	parts, err := scheme.Decode(id)
	fmt.Println(parts.Node, err)
	// Output: 5 <nil>
}

// A machine has the sequence numbers 32 to 63 of node 5, and other machines have others.
func ExampleSequencePart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("drift"))
	if err != nil {
		panic(err)
	}
	file, err := snowfence.StateFile(filepath.Join(dir, "node"), scheme, 5)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	g, err := snowfence.New(snowfence.Config{Fence: snowfence.SequencePart(file, 32, 63)})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	id, err := g.Next(context.Background())
	if err != nil {
		panic(err)
	}
	parts, err := scheme.Decode(id)
	fmt.Println(parts.Node, parts.Sequence, err)
	// Output: 5 32 <nil>
}

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
	order, _ := snowfence.NewPrefix("ord", snowfence.Base32Hex)
	fmt.Println(snowfence.Base58.Encode(id), snowfence.Crockford.Encode(id), snowfence.Decimal.Fixed().Encode(id),
		order.Encode(id))
	// Output: 5qY6jMw9N8P 1STQ2PXTDM8P0 02083727055179621056 ord_1pqn2mtqdk8m0
}

func newMask(text []byte) (*snowfence.Mask, error) {
	secret, err := snowfence.ParseSecret(text) // 32 hexadecimal digits, from a file or a secret manager
	if err != nil {
		return nil, err
	}
	return snowfence.NewMask(secret)
}

var customerMask, _ = newMask([]byte("dffd6021bb2bd5b0af676290809ec3a5"))

type customers struct{}

func (customers) Prefix() snowfence.Prefix {
	return snowfence.MustPrefix("cus", snowfence.Base32Hex).Masked(customerMask)
}

type CustomerID = snowfence.Typed[customers] // JSON, text and logs: cus_82pbhev9laod6; database: 249887800817025024

// A type that is plain inside and encrypted outside.
func ExamplePrefix_Masked() {
	out, _ := json.Marshal(map[string]CustomerID{"id": 249887800817025024})
	fmt.Println(string(out))

	var in struct{ ID CustomerID }
	err := json.Unmarshal([]byte(`{"ID":"cus_82pbhev9laod6"}`), &in)
	fmt.Println(int64(in.ID), err)
	// Output:
	// {"id":"cus_82pbhev9laod6"}
	// 249887800817025024 <nil>
}

// Encrypted IDs spread evenly over shards, by remainder as well as by range; take them as
// unsigned numbers.
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

// A state file that is damaged or gone begins anew, above all that the processes of its
// node can have made.
func ExampleResetStateFile() {
	dir, made := os.MkdirTemp("", "")
	if made != nil {
		panic(made)
	}
	defer os.RemoveAll(dir)
	scheme, made := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if made != nil {
		panic(made)
	}
	node, path := int64(7), filepath.Join(dir, "worker")
	stopped, lead := time.Now().Add(-time.Minute), 2*time.Second

	err := snowfence.ResetStateFile(path, scheme, node, stopped.Add(lead))
	if err != nil {
		panic(err)
	}
	fence, err := snowfence.StateFile(path, scheme, node)
	if err != nil {
		panic(err)
	}
	ids, err := snowfence.New(snowfence.Config{Fence: fence})
	if err != nil {
		panic(err)
	}
	defer ids.Close()

	id, err := ids.Next(context.Background())
	if err != nil {
		panic(err)
	}
	parts, err := scheme.Decode(id)
	fmt.Println(parts.Node, parts.Time.After(stopped.Add(lead)), err)
	// Output: 7 true <nil>
}
