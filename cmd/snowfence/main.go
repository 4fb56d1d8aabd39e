// Command snowfence makes, explains and plans unique 64-bit IDs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // for sequences by date where the machine knows no zones

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
)

func main() { os.Exit(process(command.New(os.Stdin, os.Stdout, os.Stderr, os.Environ()))) }

// process runs the program with the arguments and the signals of this
// process.
func process(e *command.Env) int {
	// A closed pipe shows as an error of the write, so that leases are
	// given back first.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			cancel()
			// A second Ctrl-C ends the program at once. timeout(1) sends
			// each signal twice, to the program and to its group.
			time.Sleep(200 * time.Millisecond)
			signal.Reset(os.Interrupt, syscall.SIGTERM)
		case <-ctx.Done():
		}
	}()
	return execute(ctx, e, os.Args[1:])
}
