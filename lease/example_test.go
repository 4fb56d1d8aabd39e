package lease_test

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Two generators that share a store get different nodes. With a store in a
// database they may be anywhere.
func Example() {
	ctx := context.Background()
	st := store.NewMemory()
	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	var nodes []int64
	for range 2 {
		l, err := lease.Open(ctx, st, "orders", scheme, &lease.Options{Create: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		g, err := l.Generator(snowfence.Config{}) // which closes the lease with it
		if err != nil {
			fmt.Println(err)
			return
		}
		defer g.Close()
		id, err := g.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := scheme.Decode(id)
		if err != nil {
			fmt.Println(err)
			return
		}
		nodes = append(nodes, p.Node)
	}
	fmt.Println(nodes[0] != nodes[1])
	// Output: true
}
