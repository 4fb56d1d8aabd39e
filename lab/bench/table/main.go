// Table turns the figures of the benchmarks into docs/prove/benchmarks.md,
// and prints the tables in it.
//
//	table -o ../docs/prove/benchmarks.md IDS SERVED HOLDERS SEQUENCES COMPAT LANGUAGES
//
// Each file has lines of a name and a number, from benchmarks of lab/bench,
// lab/bench/served, test/server/load, test/stores/sequences and
// test/clients/clib; see scripts/bench.sh. Every figure in the page comes
// from there: this program knows the names of the rows and the targets, and
// no measurement.
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

// parts are the tables of the page, in the order of the files.
var parts = []struct {
	name  string // in the page
	write func(*sheet)
}{
	{"Table", idTable},
	{"Served", serverTables},
	{"Holders", holderTable},
	{"Sequences", sequenceTables},
	{"Layers", compatTable},
	{"Languages", languageTable},
}

func run(out string, files []string) error {
	if len(files) != len(parts) {
		return fmt.Errorf("want %d files of figures, got %d", len(parts), len(files))
	}
	tables, ids := map[string]any{}, figures{}
	for i, file := range files {
		f, err := readFigures(file)
		if err != nil {
			return err
		}
		if i == 0 {
			ids = f
		}
		text, err := tableOf(f, parts[i].write)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		tables[parts[i].name] = text
		fmt.Println(text)
	}
	if out == "" {
		return nil
	}
	text, err := page(ids, tables)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
