package remote_test

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/remote"
)

// example is the program of docs/operate/serve.md.
func example(ctx context.Context, token string) error {
	c, err := remote.Dial([]string{"https://ids-1:8443", "https://ids-2:8443"}, &remote.Options{Token: token})
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := c.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer ids.Close()        // gives the node back
	id, err := ids.Next(ctx) // from memory
	if err != nil {
		return err
	}
	fmt.Println(id)
	return nil
}

// numbers is what docs/choose/sequences.md advises.
func numbers(ctx context.Context, token string) error {
	c, err := remote.Dial([]string{"https://ids-1:8443", "https://ids-2:8443"}, &remote.Options{Token: token})
	if err != nil {
		return err
	}
	defer c.Close()
	orders, err := c.Sequence(ctx, "orders")
	if err != nil {
		return err
	}
	defer orders.Close()
	n, err := orders.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println(n)
	return nil
}

func ExampleClient_Sequence() {
	if err := numbers(context.Background(), "snowfence_…"); err != nil {
		fmt.Println(err)
	}
}

func Example() {
	if err := example(context.Background(), "snowfence_…"); err != nil {
		fmt.Println(err)
	}
}

// source is what docs/choose/serverless.md advises.
func source(ctx context.Context, token string) error {
	c, err := remote.Dial([]string{"https://ids-1:8443", "https://ids-2:8443"}, &remote.Options{Token: token})
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := c.Source("default", nil)
	if err != nil {
		return err
	}
	id, err := ids.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println(id)
	return nil
}

func ExampleClient_Source() {
	if err := source(context.Background(), "snowfence_…"); err != nil {
		fmt.Println(err)
	}
}
