package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// adapterArg makes the test program an adapter: of a client by hand, with a
// mistake or none.
const adapterArg = "adapter"

func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != adapterArg {
		os.Exit(withServers(m))
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

// servers is the program that the referee starts.
var servers string

// withServers runs the tests with the program, which make test has built in
// TEST_PROGRAMS.
func withServers(m *testing.M) int {
	dir := os.Getenv("TEST_PROGRAMS")
	if servers = filepath.Join(dir, "snowfence"); dir != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "conform")
	if err == nil {
		defer os.RemoveAll(dir)
		servers, err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// ttlOf returns the ttl that the referee asks for.
func ttlOf() time.Duration {
	ttl, _ := time.ParseDuration(os.Getenv("SNOWFENCE_TTL"))
	return ttl
}
