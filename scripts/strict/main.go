// Strict runs go test with the given arguments, and succeeds only if every
// test ran and passed. A skipped test fails the run, unless
// SNOWFENCE_LEAVE_OUT asks for it, or -short leaves it to make full. It
// prints one line for each package, and the whole output of failed and
// skipped tests, and of those that had not ended when their package was
// stopped.
//
// Plain go test is for machines with nothing installed, where tests may
// skip; this is for make test, where nothing may.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
	r := newReport(os.Stdout)
	r.short = slices.Contains(os.Args, "-short")
	err = errors.Join(r.readEvents(out), cmd.Wait())
	r.writeEnd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
	}
	if r.later > 0 {
		fmt.Printf("strict: %d test(s) left to make full\n", r.later)
	}
	if r.skips > 0 {
		fmt.Fprintf(os.Stderr, "strict: %d test(s) skipped themselves; nothing may be skipped here\n", r.skips)
	}
	if err != nil || r.skips > 0 || len(r.lines) > 0 {
		os.Exit(1)
	}
}
