// Strict runs go test with the given arguments, and succeeds only if every
// test ran and passed. A skipped test fails the run, unless
// SNOWFENCE_LEAVE_OUT asks for it, or -short leaves it to make full. It
// prints one line for each package, and the whole output of failed and
// skipped tests. For a package that was stopped, it prints the tests that
// had not ended, their output, and the reason.
//
// Plain go test is for machines with nothing installed, where tests may
// skip; this is for make test, where nothing may.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
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
	go func() {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
		why := <-stop
		r.writeInterrupted(why.String(), time.Now())
		_ = cmd.Process.Kill()
		os.Exit(1)
	}()
	err = r.readEvents(out)
	err = errors.Join(err, cmd.Wait())
	r.writeEnd(time.Now())
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
