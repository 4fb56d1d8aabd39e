// Adapter lets lab/conform play with the Go client: it answers each line
// "next" with an ID, and ends at "close".
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
)

func main() {
	var g *snowfence.Generator
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() && s.Text() == "next" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		var err error
		if g == nil {
			g, err = open(ctx)
		}
		var id snowfence.ID
		if err == nil {
			id, err = g.Next(ctx)
		}
		cancel()
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(int64(id))
	}
	if g != nil {
		if err := g.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	fmt.Println("closed")
}

func open(ctx context.Context) (*snowfence.Generator, error) {
	c, err := remote.Dial([]string{os.Getenv("SNOWFENCE_SERVER")}, nil)
	if err != nil {
		return nil, err
	}
	ttl, err := time.ParseDuration(os.Getenv("SNOWFENCE_TTL"))
	if err != nil {
		return nil, err
	}
	return c.Open(ctx, &lease.Options{Namespace: os.Getenv("SNOWFENCE_NAMESPACE"), TTL: ttl})
}
