// Strict runs go test with the arguments given and is content only when every test ran and passed: a test that skipped
// itself fails the run, unless SNOWFENCE_LEAVE_OUT asks for it. It prints one line a package, and in full what the failed and skipped tests wrote.
//
// Plain go test is for machines with nothing installed, where tests may skip; this is for make test, where nothing may.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output, which belongs to no test
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

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
	skipped, err := report(os.Stdout, out)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
	if skipped > 0 {
		fmt.Fprintf(os.Stderr, "strict: %d test(s) skipped themselves; nothing may be skipped here\n", skipped)
		os.Exit(1)
	}
}

// report copies the news in a stream of events to w and counts the tests that were skipped.
func report(w io.Writer, r io.Reader) (skipped int, err error) {
	written := map[string]*strings.Builder{} // output so far, by package and test
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(w, "%s", line) // the go command itself speaks plain text
				continue
			}
			skipped += e.tell(w, written)
		}
		if errors.Is(err, io.EOF) {
			return skipped, nil
		}
		if err != nil {
			return skipped, err
		}
	}
}

// tell handles one event and returns 1 if it is that of a skipped test.
func (e event) tell(w io.Writer, written map[string]*strings.Builder) int {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(w, e.Output)
	case "output":
		if written[key] == nil {
			written[key] = new(strings.Builder)
		}
		written[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		out := ""
		if b := written[key]; b != nil {
			out = b.String()
		}
		delete(written, key)
		switch {
		case e.Test != "" && e.Action != "pass":
			fmt.Fprint(w, out)
			if e.Action == "skip" && !leftOut(out) {
				return 1
			}
		case e.Test == "" && e.Action == "fail":
			fmt.Fprintf(w, "%sFAIL\t%s\t%.3fs\n", out, e.Package, e.Elapsed)
		case e.Test == "" && e.Action == "pass":
			fmt.Fprintf(w, "ok\t%s\t%.3fs\n", e.Package, e.Elapsed)
		}
	}
	return 0
}

// leftOut reports whether a test was skipped because whoever runs the tests asked for that; see package servers.
func leftOut(out string) bool {
	return os.Getenv("SNOWFENCE_LEAVE_OUT") != "" && strings.Contains(out, "left out as asked by SNOWFENCE_LEAVE_OUT")
}
