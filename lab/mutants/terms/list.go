package terms

import (
	"fmt"
	"strings"
)

// Reasons reads a list of mutants that no test can notice: lines with keys,
// and after them, indented, why. A reason that begins with "endless" says
// that the mutant makes a loop endless. Tests then run until their limit,
// unless a quicker test fails before.
func Reasons(text string) (map[string]string, error) {
	out := map[string]string{}
	var keys []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		reason, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			if _, twice := out[line]; twice {
				return nil, fmt.Errorf("terms: it is in the list twice: %s", line)
			}
			out[line] = ""
			keys = append(keys, line)
		default:
			for _, k := range keys {
				out[k] = reason
			}
			keys = nil
		}
	}
	if len(keys) > 0 {
		return nil, fmt.Errorf("terms: it is in the list without a reason: %s", keys[0])
	}
	return out, nil
}

// Stale returns the keys of a list that no mutant has any more.
func Stale[V any](list map[string]V, found []Mutant) (stale []string) {
	there := map[string]bool{}
	for _, m := range found {
		there[m.Key] = true
	}
	for key := range list {
		if !there[key] {
			stale = append(stale, key)
		}
	}
	return stale
}

// Sample reads lines of a package, a test and the key of a mutant that it
// notices, with tabs between them.
func Sample(text string) (map[string]*Unit, error) {
	out := map[string]*Unit{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("terms: a line of the sample is not package, test, mutant: %q", line)
		}
		out[f[2]] = &Unit{Pkg: f[0], Name: f[1]}
	}
	return out, nil
}
