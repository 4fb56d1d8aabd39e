package clib

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

var (
	figures = flag.String("figures", "", "write the figures of BenchmarkLanguages to this file")
	rounds  = flag.Int("rounds", 3, "how many rounds BenchmarkLanguages has")
)

// wide has so many IDs in a tick that no call waits for the next one.
const wide = "time=38,node=2,seq=23,epoch=2025-01-01T00:00:00Z,tick=1ms"

// secondLibrary builds another Go library.
func secondLibrary(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bare.so")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir = "testdata/bare"
	tests.Run(t, cmd)
	return path
}

// Two Go libraries live in one process. (The figures are of a busy machine,
// and say nothing.)
func TestTwoGoLibraries(t *testing.T) {
	t.Parallel()
	dir := build(t)
	path := compile(t, "testdata/bench.c", "-L"+dir, "-lsnowfence", "-Wl,-rpath,"+dir, "-ldl")
	if out := run(t, path, secondLibrary(t), wide, "3"); !strings.Contains(string(out), "ring ") {
		t.Errorf("%s", out)
	}
}

// besides are what a figure is compared with, by name. lab/bench/table has
// the titles and targets.
var besides = map[string]string{"ring": "bare", "next": "bare", "fill": "go-fill"}

// BenchmarkLanguages prints what an ID costs in C, beside what it is
// compared with: go test ./clib -run '^$' -bench Languages -benchtime 1x
func BenchmarkLanguages(b *testing.B) {
	dir := build(b)
	path := filepath.Join(b.TempDir(), "bench")
	must(b, gcc(path, "testdata/bench.c", "-L"+dir, "-lsnowfence", "-Wl,-rpath,"+dir, "-ldl"))
	bare := secondLibrary(b)
	var out strings.Builder
	for range *rounds {
		ns := map[string]float64{}
		text, err := exec.CommandContext(b.Context(), path, bare, wide, "300").CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, text)
		}
		fields := strings.Fields(string(text))
		for i := 0; i+1 < len(fields); i += 2 {
			if ns[fields[i]], err = strconv.ParseFloat(fields[i+1], 64); err != nil {
				b.Fatalf("%s", text)
			}
		}
		for of, beside := range besides {
			if ns[of] == 0 || ns[beside] == 0 {
				b.Fatalf("%s or %s was not measured: %v", of, beside, ns)
			}
			for what, x := range map[string]float64{"ns": ns[of], "beside": ns[beside], "times": ns[of] / ns[beside]} {
				fmt.Fprintf(&out, "languages/%s/%s %.6g\n", of, what, x)
			}
		}
	}
	if *figures == "" {
		fmt.Print(out.String())
	} else if err := os.WriteFile(*figures, []byte(out.String()), 0o644); err != nil {
		b.Fatal(err)
	}
}
