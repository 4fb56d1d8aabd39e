package sparx

// Path is a way to compute the cipher. All give the same results.
type Path string

// The paths, slowest first.
const (
	SWAR   Path = "swar"   // plain Go, unrolled, four blocks at once
	AVX512 Path = "avx512" // amd64 with AVX-512 F, BW, VBMI and VBMI2
)

// Available lists the paths that this CPU has, fastest last.
func Available() []Path { return append([]Path{SWAR}, vectorPaths()...) }
