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
	ids, err := c.Generator(ctx, nil)
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

func Example() {
	if err := example(context.Background(), "snowfence_…"); err != nil {
		fmt.Println(err)
	}
}
