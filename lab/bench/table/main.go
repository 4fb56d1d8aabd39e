// Table turns the figures of the benchmarks into docs/prove/benchmarks.md.
//
//	table -o ../docs/prove/benchmarks.md FILE ...
//
// Each file has lines of a name and a number, from benchmarks of lab/bench,
// lab/bench/served, test/server/load, test/stores/sequences and
// test/clients/clib; see scripts/bench.sh. Every figure in the page comes
// from there: page.md.tmpl knows the names of the rows and the targets, and
// no measurement.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "/dev/stdout", "write the page to this `file`")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(out string, files []string) error {
	all := figures{}
	for _, file := range files {
		if err := all.read(file); err != nil {
			return err
		}
	}
	m, err := machineHere()
	if err != nil {
		return err
	}
	text, err := page(all, m)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// machine is where the figures come from.
type machine struct {
	CPU, System, Go, Date string
	Cores                 int
	Modules               []string // the other libraries, and their versions
}

func machineHere() (m machine, err error) {
	m = machine{Go: runtime.Version(), Cores: runtime.NumCPU(), Date: time.Now().UTC().Format(time.DateOnly)}
	if m.System, err = output("uname", "-srm"); err != nil {
		return m, err
	}
	if m.CPU, err = output("sed", "-n", `s/^model name\s*: //p;T;q`, "/proc/cpuinfo"); err != nil {
		return m, err
	}
	modules, err := output("go", "list", "-m", "github.com/bwmarrin/snowflake", "github.com/sony/sonyflake",
		"github.com/sony/sonyflake/v2", "github.com/yitter/idgenerator-go", "gosuda.org/randflake",
		"go.etcd.io/etcd/pkg/v3", "github.com/google/uuid")
	m.Modules = slices.Compact(strings.Split(modules, "\n"))
	return m, err
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
