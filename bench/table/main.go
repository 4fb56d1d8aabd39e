// Table turns the output of the benchmarks into docs/benchmarks.md, and prints the table in it.
//
//	table -o ../docs/benchmarks.md RAW
//
// RAW is what go test -bench . wrote in several rounds, and go test -v for the restart tests; see scripts/bench.sh. Every
// figure in the page comes from there: this program knows the names of the rows and the targets, and no measurement.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "write the page to this `file`")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(out string, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one file of raw results, got %d", len(args))
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := read(f)
	if err != nil {
		return err
	}
	t, err := r.table()
	if err != nil {
		return err
	}
	fmt.Print(t)
	idle, err := r.idle()
	if err != nil {
		return err
	}
	if !idle {
		fmt.Fprintln(os.Stderr, "table: the machine was busy with something else: do not rely on the columns with two goroutines")
	}
	if out == "" {
		return nil
	}
	page, err := page(r, t)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}
