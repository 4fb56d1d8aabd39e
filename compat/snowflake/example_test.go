package snowflake_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowfence/snowfence/compat/snowflake"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// A lease finds a number that no other process has.
func ExampleNewNodeOn() {
	ctx, store := context.Background(), store.NewMemory() // in a program: the store of your database
	scheme, err := snowflake.Scheme()
	if err != nil {
		log.Fatal(err)
	}
	l, err := lease.Open(ctx, store, "default", scheme, &lease.Options{Create: true})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	node, err := snowflake.NewNodeOn(l)
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	id := node.Generate()
	fmt.Println(id > 0)
	// Output: true
}
