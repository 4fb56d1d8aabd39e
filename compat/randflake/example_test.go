package randflake_test

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/randflake"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// The node is leased: no other process has it. Two generators here stand
// for two processes with one store.
func ExampleNewOn() {
	ctx := context.Background()
	store := store.NewMemory() // over your database in a program: sqlstore.New, etcdstore.New, …
	secret, err := snowfence.NewSecret([]byte("super-secret-key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	scheme, err := snowfence.NewScheme(snowfence.Randflake(), secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes := map[int64]bool{}
	for range 2 {
		l, err := lease.Open(ctx, store, "users", scheme, &lease.Options{Create: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer l.Close()
		g, err := randflake.NewOn(l)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Close()
		id, err := g.GenerateContext(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, node, _, err := g.Inspect(id)
		fmt.Println(node == g.GetLeaseInfo().NodeID, err)
		nodes[node] = true
	}
	fmt.Println(len(nodes), "nodes")
	// Output:
	// true <nil>
	// true <nil>
	// 2 nodes
}
