//go:build linux && amd64 && !purego

package sparx

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryPathIsTested asks the operating system what this CPU can do. The
// other tests take all paths that Available lists; this one fails when
// Available knows less than the kernel, and a path would be left out
// without anybody noticing. It fails as well when it knows more, because
// the kernel leaves out what it does not support.
func TestEveryPathIsTested(t *testing.T) {
	info := must(os.ReadFile("/proc/cpuinfo"))
	_, after, found := strings.Cut(string(info), "\nflags")
	line, _, _ := strings.Cut(after, "\n")
	flags := strings.Fields(line)
	if !found || len(flags) == 0 {
		t.Fatal("no flags in /proc/cpuinfo")
	}
	for path, needs := range map[Path][]string{AVX512: {"avx512f", "avx512bw", "avx512vbmi", "avx512_vbmi2"}} {
		want := true
		for _, flag := range needs {
			want = want && slices.Contains(flags, flag)
		}
		if got := slices.Contains(Available(), path); got != want {
			t.Errorf("path %s: tested here %v, but the kernel says %v", path, got, want)
		}
	}
}
