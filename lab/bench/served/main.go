//go:build linux

// Served measures a Snowfence server over its wires, beside redis-server
// and a bare net/http server on the same cores in the same minutes:
//
//	served -snowfence ../bin/snowfence -bare ../bin/bare -rounds 5 >RAW
//
// It needs Linux, two cores, redis-server, redis-benchmark, wrk and
// taskset. Each line of RAW is the name of a figure and one sample of it;
// lab/bench/table makes the page of them. Servers run on the first core
// with GOMAXPROCS=1, clients on the second.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// bench is one run.
type bench struct {
	ctx           context.Context
	program, bare string
	only          string
	time          time.Duration
	dir           string
}

func main() {
	b := bench{}
	flag.StringVar(&b.program, "snowfence", "../bin/snowfence", "the program that is measured")
	flag.StringVar(&b.bare, "bare", "../bin/bare", "the bare server")
	rounds := flag.Int("rounds", 5, "how often each row is measured")
	flag.StringVar(&b.only, "only", "", "measure this part alone: ids, numbers or others")
	flag.DurationVar(&b.time, "time", 2*time.Second, "how long a row is measured in each round")
	client := flag.String("client", "", "be the `client` of a row, as the program itself asks")
	address := flag.String("address", "", "of the server, for -client")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b.ctx = ctx
	err := error(nil)
	if *client != "" {
		err = beClient(ctx, *client, *address, b.time)
	} else {
		err = b.run(*rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "served:", err)
		os.Exit(1)
	}
}

func (b *bench) run(rounds int) (err error) {
	if b.dir, err = os.MkdirTemp("", "served"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	for round := range rounds {
		if err := b.runRound(round); err != nil {
			return err
		}
	}
	return nil
}

// runRound measures every row once, with servers that start anew.
func (b *bench) runRound(round int) error {
	fmt.Fprintf(os.Stderr, "served: round %d\n", round+1)
	s, err := b.start()
	if err != nil {
		return err
	}
	defer s.stop()
	if b.measures("ids") {
		if err := b.measureSingle(s, "single", "SNOWFENCE.NEXT", "default"); err != nil {
			return err
		}
	}
	if b.measures("numbers") {
		if err := b.measureSingle(s, "numbers", "INCR", "counter"); err != nil {
			return err
		}
	}
	if !b.measures("others") {
		return nil
	}
	if err := b.measureHTTP(s); err != nil {
		return err
	}
	return b.measureBatches(s)
}

func (b *bench) measures(part string) bool { return b.only == "" || b.only == part }

func sample(value float64, name string, args ...any) {
	fmt.Printf("%s %.6g\n", fmt.Sprintf(name, args...), value)
}
