package conform

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// adapterArg makes the test program an adapter: of a client by hand, with a mistake or none.
const adapterArg = "adapter"

func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != adapterArg {
		os.Exit(m.Run())
	}
	c := newHandClient(os.Args[2])
	s := bufio.NewScanner(os.Stdin)
	for s.Scan() && s.Text() == "next" {
		id, err := c.next()
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(int64(id))
	}
	c.close()
	fmt.Println("closed")
}

// ttlOf returns the ttl that the referee asks for.
func ttlOf() time.Duration {
	ttl, _ := time.ParseDuration(os.Getenv("SNOWFENCE_TTL"))
	return ttl
}
