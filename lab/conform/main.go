package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

const usage = `go run ./lab/conform [-rule NAMES] [-program PATH] COMMAND [ARG...]

Conform is for authors of clients, in any language. It is a referee between a client and a server
that it starts itself: it loses, delays, damages and repeats answers, takes nodes away, stops the
server, kills and stops the client, and compares each ID with the grants that it gave. The rules
come from docs/reference/specification.md, which says what COMMAND has to do.

A rule is "red" if the client broke it. It is "not seen" if the client did not come to the point
where it matters, for example because the machine was too busy. The exit code is 0 if all rules
are green, 3 if one is red, 2 after a wrong command line, and else 1.
`

func main() {
	rules := flag.String("rule", "", "play only these `rules`, with commas between them")
	program := flag.String("program", "", "the `path` of the program snowfence; it is built without one")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	var only []string
	if *rules != "" {
		only = strings.Split(*rules, ",")
	}
	for _, name := range only {
		if !slices.Contains(Names(), name) {
			fmt.Fprintf(os.Stderr, "-rule %s: there is no such rule: use %s\n", name, strings.Join(Names(), ", "))
			os.Exit(2)
		}
	}
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := judged(*program, flag.Args(), only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// judged plays the rules and prints the verdicts. It returns the exit code.
func judged(program string, command, only []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if program == "" {
		dir, err := os.MkdirTemp("", "conform")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		if program, err = build(dir); err != nil {
			return 1, err
		}
	}
	rows, err := Run(ctx, program, command, only)
	if err != nil {
		return 1, err
	}
	return write(rows)
}

// build makes the program in a folder.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "snowfence")
	out, err := exec.Command("go", "build", "-o", path, "github.com/snowfence/snowfence/cmd/snowfence").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the program: %w: %s", err, out)
	}
	return path, nil
}

// write prints the verdicts, and below the table the offences.
func write(rows []Row) (int, error) {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tSEEN\tVERDICT\tTHE CLIENT")
	counts := map[Verdict]int{}
	for _, r := range rows {
		counts[r.Verdict]++
		fmt.Fprintf(w, "%s\t%d IDs, %d grants\t%s\t%s\n", r.Name, r.IDs, r.Grants, r.Verdict, r.Rule)
	}
	if err := w.Flush(); err != nil {
		return 1, err
	}
	for _, r := range rows {
		for _, text := range r.Found {
			fmt.Printf("%s: %q (specification: %s)\n", r.Name, text, r.Section)
		}
		if r.Missed != "" {
			fmt.Printf("%s: this did not happen: %q\n", r.Name, r.Missed)
		}
	}
	fmt.Fprintf(os.Stderr, "%d green, %d red, %d not seen\n", counts[Green], counts[Red], counts[NotSeen])
	switch {
	case counts[Red] > 0:
		return 3, nil
	case counts[NotSeen] > 0:
		return 1, errors.New("not all rules were seen: try again on a machine that is less busy")
	}
	return 0, nil
}
