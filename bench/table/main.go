// Table turns the output of the benchmarks into docs/prove/benchmarks.md, and prints the
// table in it.
//
//	table -o ../docs/prove/benchmarks.md RAW SERVED HOLDERS SEQUENCES COMPAT LANGUAGES
//	table -o ../docs/prove/benchmarks.md LANGUAGES
//
// RAW is what go test -bench . wrote in several rounds, and go test -v for the restart
// tests, SERVED what bench/served wrote, HOLDERS what the benchmark of test/load did,
// SEQUENCES what those of sequences did, COMPAT what that of the layers did, and LANGUAGES what
// that of test/clib did, which alone is put into the page that is there; see scripts/bench.sh.
// Every figure in the page comes from there: this program knows the names of the rows and the
// targets, and no measurement.
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
	if len(args) == 1 {
		return runLanguages(out, args[0])
	}
	if len(args) != 6 {
		return fmt.Errorf("want one or six files of raw results, got %d", len(args))
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
	served, err := tables(args[1], serverTables)
	if err != nil {
		return err
	}
	holders, err := tables(args[2], holderTable)
	if err != nil {
		return err
	}
	sequences, err := tables(args[3], sequenceTables)
	if err != nil {
		return err
	}
	layers, err := tables(args[4], compatTable)
	if err != nil {
		return err
	}
	languages, err := tables(args[5], languageTable)
	if err != nil {
		return err
	}
	fmt.Print(t, "\n", served, "\n", holders, "\n", sequences, "\n", layers, "\n", languages)
	idle, err := r.idle()
	if err != nil {
		return err
	}
	if !idle {
		fmt.Fprintln(os.Stderr, "table: the machine was busy with something else: do not rely on the columns "+
			"with two goroutines")
	}
	if out == "" {
		return nil
	}
	page, err := page(r, t, served, holders, sequences, layers, languages)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}

// runLanguages puts the part of the languages into the page.
func runLanguages(out, path string) error {
	t, err := tables(path, languageTable)
	if err != nil {
		return err
	}
	fmt.Print(t)
	if out == "" {
		return nil
	}
	old, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	page, err := withLanguages(string(old), t)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}

// tables makes tables of a file of figures.
func tables(path string, of func(figures) (string, error)) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	f, err := readFigures(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	t, err := of(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
