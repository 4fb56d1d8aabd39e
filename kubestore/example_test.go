package kubestore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowfence/snowfence/kubestore"
)

// A pod makes IDs, and keeps its lease in its own namespace of the cluster.
func Example() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := kubestore.InCluster()
	if err != nil {
		return err
	}
	ids, err := kubestore.Open(ctx, config, nil)
	if err != nil {
		return err
	}
	defer ids.Close()
	id, err := ids.Next(ctx)
	fmt.Println(id)
	return err
}
