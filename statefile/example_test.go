package statefile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/statefile"
)

// The processes of one machine share a folder, and each has a node of its
// own.
func ExampleOpen() {
	ids, err := statefile.Open("/var/lib/app/ids")
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

// A fixed node on one machine: the file makes the number safe over
// restarts.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		panic(err)
	}
	fence, err := statefile.File(filepath.Join(dir, "node"), scheme, 5)
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

// A machine has the sequence numbers 32 to 63 of node 5, and other machines
// have others.
func ExampleFence_SequencePart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("drift"))
	if err != nil {
		panic(err)
	}
	file, err := statefile.File(filepath.Join(dir, "node"), scheme, 5)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	part, err := file.SequencePart(32, 63)
	if err != nil {
		panic(err)
	}
	g, err := snowfence.New(snowfence.Config{Fence: part})
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

// A state file that is damaged or gone begins anew, above all that the
// processes of its node can have made.
func ExampleReset() {
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

	err := statefile.Reset(path, scheme, node, stopped.Add(lead))
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

	id, err := ids.Next(context.Background())
	if err != nil {
		panic(err)
	}
	parts, err := scheme.Decode(id)
	fmt.Println(parts.Node, parts.Time.After(stopped.Add(lead)), err)
	// Output: 7 true <nil>
}
