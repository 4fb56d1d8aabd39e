package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/nodes"
)

func twitter() *snowfence.Scheme {
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		panic(err)
	}
	return scheme
}

// A number that two processes have derived: the second is refused, and the
// error names the holder.
func ExampleOpen_guard() {
	ctx, st, scheme := context.Background(), store.NewMemory(), twitter()
	node, err := nodes.Find(ctx, scheme, nodes.Number(7)) // or nodes.FromOrdinal, nodes.FromIPv4, …
	if err != nil {
		panic(err)
	}
	open := func(label string) (*lease.Lease, error) {
		return lease.Open(ctx, st, "orders", scheme, &lease.Options{
			Node: &node, Guard: true, Label: label, Create: true,
		})
	}
	l, err := open("web-7")
	if err != nil {
		panic(err)
	}
	defer l.Close()

	_, err = open("batch-7")
	var held *lease.TakenError
	fmt.Println(errors.As(err, &held), held.Nodes.From, held.Holders)
	// Output: true 7 web-7
}

// The platform says which datacenter this is, and a worker below it is
// leased.
func ExampleOpen_within() {
	os.Setenv("ZONE", "3")
	defer os.Unsetenv("ZONE")
	ctx, st, scheme := context.Background(), store.NewMemory(), twitter()

	zone, err := nodes.FromEnv("ZONE").Number(ctx)
	if err != nil {
		panic(err)
	}
	workers, err := scheme.NodesWith(map[string]int64{"datacenter": zone})
	if err != nil {
		panic(err)
	}
	l, err := lease.Open(ctx, st, "orders", scheme, &lease.Options{Within: workers, Create: true})
	if err != nil {
		panic(err)
	}
	defer l.Close()
	fmt.Println(workers, scheme.NodeParts(l.Status().Grant.Node)[0])
	// Output: {96 128} 3
}

// Any free node, with all defaults.
func ExampleOpen() {
	ctx, st, scheme := context.Background(), store.NewMemory(), twitter()
	if _, err := scope.Namespaces(st).Create(ctx, "orders", scheme, nil); err != nil {
		panic(err)
	}
	l, err := lease.Open(ctx, st, "orders", scheme, nil)
	if err != nil {
		panic(err)
	}
	defer l.Close()
	fmt.Println(l.Status().Held)
	// Output: true
}

// The store remembers labels: a label finds the node that it held last.
func ExampleOpen_sameNode() {
	ctx, st, scheme := context.Background(), store.NewMemory(), twitter()
	var nodes []int64
	for range 3 {
		l, err := lease.Open(ctx, st, "orders", scheme, &lease.Options{Label: "web-3", Create: true})
		if err != nil {
			panic(err)
		}
		nodes = append(nodes, l.Status().Grant.Node)
		l.Close()
	}
	fmt.Println(nodes[0] == nodes[1] && nodes[1] == nodes[2])
	// Output: true
}

// Nodes 0 to 29 stay for numbers given by hand; in the end they become
// leasable too.
func ExampleOperator_Change() {
	ctx, op, scheme := context.Background(), scope.Namespaces(store.NewMemory()), twitter()

	ns, err := op.Create(ctx, "orders", scheme,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 30, Until: 64}})
	fmt.Println(ns.Nodes.From, ns.Nodes.Until-1, err)
	// … all processes lease by now, and the last one with a number of its
	// own has stopped:
	stopped := time.Now()
	ns, err = op.Change(ctx, "orders", nil,
		&scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 64}, Unused: stopped.Add(time.Second)})
	fmt.Println(ns.Nodes.From, ns.Nodes.Until-1, err)
	// Output:
	// 30 63 <nil>
	// 0 63 <nil>
}

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
