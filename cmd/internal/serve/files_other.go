//go:build !unix

package serve

import "math"

// mostFiles knows no limit.
func mostFiles() int { return math.MaxInt32 }
