package conform

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
)

// adapterArg makes the test program an adapter: of the Go client, or of one by hand with a mistake.
const adapterArg = "adapter"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) < 3 || os.Args[1] != adapterArg:
		os.Exit(m.Run())
	case os.Args[2] == "go":
		serve(&goClient{})
	default:
		serve(newHandClient(os.Args[2]))
	}
}

// maker is a client behind an adapter.
type maker interface {
	next() (snowfence.ID, error)
	close()
}

// serve is what every adapter does.
func serve(m maker) {
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() && s.Text() == "next" {
		id, err := m.next()
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(int64(id))
	}
	m.close()
	fmt.Println("closed")
}

// ttlOf returns the ttl that the referee asks for.
func ttlOf() time.Duration {
	ttl, _ := time.ParseDuration(os.Getenv("SNOWFENCE_TTL"))
	return ttl
}

// goClient is package remote.
type goClient struct{ g *snowfence.Generator }

func (c *goClient) next() (snowfence.ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.g == nil {
		client, err := remote.Dial([]string{os.Getenv("SNOWFENCE_SERVER")}, nil)
		if err == nil {
			c.g, err = client.Open(ctx, &lease.Options{Namespace: os.Getenv("SNOWFENCE_NAMESPACE"), TTL: ttlOf()})
		}
		if err != nil {
			return 0, err
		}
	}
	return c.g.Next(ctx)
}

func (c *goClient) close() {
	if c.g != nil {
		_ = c.g.Close()
	}
}
