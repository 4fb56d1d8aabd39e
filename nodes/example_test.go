package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/nodes"
	"github.com/snowfence/snowfence/statefile"
)

func twitter() *snowfence.Scheme {
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		panic(err)
	}
	return scheme
}

// A number that the environment gives, made safe over restarts by a state
// file.
func ExampleFromEnv() {
	os.Setenv("WORKER", "7")
	defer os.Unsetenv("WORKER")
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, scheme, path := context.Background(), twitter(), filepath.Join(dir, "worker")

	node, err := nodes.Find(ctx, scheme, nodes.FromEnv("WORKER"))
	if err != nil {
		panic(err)
	}
	fence, err := statefile.File(path, scheme, node)
	if err != nil {
		panic(err)
	}
	ids, err := snowfence.New(snowfence.Config{Fence: fence})
	if err != nil {
		panic(err)
	}
	defer ids.Close()

	id, err := ids.Next(ctx)
	if err != nil {
		panic(err)
	}
	parts, err := scheme.Decode(id)
	fmt.Println(parts.Node, err)
	_, err = nodes.Find(ctx, scheme, nodes.FromEnv("WORKRE"))
	fmt.Println(err)
	// Output:
	// 7 <nil>
	// nodes: node from environment variable WORKRE: no node number: it is not set: set it to a number that no other process has
}

// The datacenter from a file that the platform mounts, the worker from the
// pod's ordinal.
func ExampleFromOrdinal() {
	ctx, scheme := context.Background(), twitter()
	node, err := nodes.Find(ctx, scheme, nodes.FromFile("/etc/podinfo/zone"), nodes.FromOrdinal())
	fmt.Println(node, errors.Is(err, nodes.ErrNoNode))
	// Output: 0 true
}

// The number of the datacenter from the cloud's metadata service.
func ExampleFunc() {
	ctx, scheme := context.Background(), twitter()
	askMetadata := func(context.Context) (int64, error) { return 3, nil } // an HTTP request, in a real program

	zone := nodes.Func("the metadata service", askMetadata)
	node, err := nodes.Find(ctx, scheme, zone, nodes.Number(7))
	fmt.Println(node, scheme.NodeParts(node), err)
	// Output: 103 [3 7] <nil>
}
