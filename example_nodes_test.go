package snowfence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/snowfence/snowfence"
)

func twitter() *snowfence.Scheme {
	scheme, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		panic(err)
	}
	return scheme
}

// A number that the environment gives, made safe over restarts by a state file.
func ExampleNodeFromEnv() {
	os.Setenv("WORKER", "7")
	defer os.Unsetenv("WORKER")
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, scheme, path := context.Background(), twitter(), filepath.Join(dir, "worker")

	node, err := scheme.NodeFrom(ctx, snowfence.NodeFromEnv("WORKER"))
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

	parts, err := scheme.Decode(snowfence.Must(ids.Next(ctx)))
	fmt.Println(parts.Node, err)
	_, err = scheme.NodeFrom(ctx, snowfence.NodeFromEnv("WORKRE"))
	fmt.Println(err)
	// Output:
	// 7 <nil>
	// snowfence: node from environment variable WORKRE: no node number: it is not set: set it to a number that no other process has
}

// A state file that is damaged or gone begins anew, above all that the processes of its node can have made.
func ExampleBeginStateFile() {
	dir, made := os.MkdirTemp("", "")
	if made != nil {
		panic(made)
	}
	defer os.RemoveAll(dir)
	scheme, node, path := twitter(), int64(7), filepath.Join(dir, "worker")
	stopped, lead := time.Now().Add(-time.Minute), 2*time.Second

	err := snowfence.BeginStateFile(path, scheme, node, stopped.Add(lead))
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

	parts, err := scheme.Decode(snowfence.Must(ids.Next(context.Background())))
	fmt.Println(parts.Node, parts.Time.After(stopped.Add(lead)), err)
	// Output: 7 true <nil>
}

// The datacenter from a file that the platform mounts, the worker from the pod's ordinal.
func ExampleNodeFromOrdinal() {
	ctx, scheme := context.Background(), twitter()
	node, err := scheme.NodeFrom(ctx, snowfence.NodeFromFile("/etc/podinfo/zone"), snowfence.NodeFromOrdinal())
	fmt.Println(node, errors.Is(err, snowfence.ErrNoNode))
	// Output: 0 true
}

// Sonyflake's machine number, refused where a hook knows better.
func ExampleNodeFromIPv4() {
	ctx := context.Background()
	scheme, err := snowfence.NewScheme(snowfence.Sonyflake())
	if err != nil {
		panic(err)
	}
	check := func(ctx context.Context, node int64) error { return errors.New("another machine has it") }

	node, err := scheme.NodeFrom(ctx, snowfence.NodeFromIPv4(16).Check(check))
	fmt.Println(node, err != nil)
	// Output: 0 true
}

// The number of the datacenter from the cloud's metadata service.
func ExampleNodeFunc() {
	ctx, scheme := context.Background(), twitter()
	askMetadata := func(context.Context) (int64, error) { return 3, nil } // an HTTP request, in a real program

	zone := snowfence.NodeFunc("the metadata service", askMetadata)
	node, err := scheme.NodeFrom(ctx, zone, snowfence.NodeNumber(7))
	fmt.Println(node, scheme.NodeParts(node), err)
	// Output: 103 [3 7] <nil>
}
