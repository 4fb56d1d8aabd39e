package scale

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cpu returns the processor time in seconds that a process and its children
// used, also children that have ended. It reads Linux's /proc, and is 0
// elsewhere.
func cpu(pid int) float64 {
	children := map[int][]int{}
	used := map[int]float64{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		id, rest, _ := strings.Cut(string(b), " ")
		f := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:]) // from the state on: see proc(5)
		if len(f) < 15 {
			continue
		}
		n, _ := strconv.Atoi(id)
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], n)
		for _, ticks := range f[11:15] { // its own and its children's, in user and system mode
			t, _ := strconv.ParseFloat(ticks, 64)
			used[n] += t / 100
		}
	}
	if pid == os.Getpid() {
		return used[pid] // servers are its children, and count by themselves
	}
	sum := used[pid]
	for todo := children[pid]; len(todo) > 0; {
		n := todo[0]
		todo = append(todo[1:], children[n]...)
		sum += used[n]
	}
	return sum
}
