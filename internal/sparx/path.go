package sparx

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Path is one way to compute the cipher. All have the same results.
type Path string

const (
	Generic Path = "generic" // block by block, the code of the specification
	SWAR    Path = "swar"    // plain Go, unrolled, four blocks at once
	AVX512  Path = "avx512"  // amd64 with AVX-512 F, BW, VBMI and VBMI2
)

// Variable is the environment variable that names the path of new ciphers,
// for tests and to find a cause. Empty means unset.
const Variable = "SNOWFENCE_SPARX"

// Available lists the paths of this CPU, the fastest last. Generic and SWAR
// are always there.
func Available() []Path { return append([]Path{Generic, SWAR}, vectorPaths()...) }

// choose returns the path of a new cipher.
func choose() (Path, error) {
	paths := Available()
	name := Path(os.Getenv(Variable))
	switch {
	case name == "":
		return paths[len(paths)-1], nil
	case slices.Contains(paths, name):
		return name, nil
	}
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = string(p)
	}
	return "", fmt.Errorf("sparx: %s is %q, and here are %s", Variable, name, strings.Join(list, ", "))
}
