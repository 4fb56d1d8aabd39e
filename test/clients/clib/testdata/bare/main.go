// Bare is a second Go library for a process. It has the costs that the C
// library's are compared with: of a call that does nothing, and of Fill
// inside Go.
package main

import "C"

import (
	"context"
	"time"

	"github.com/snowfence/snowfence"
)

func main() {} // a C library has to have one

//export bare
func bare(n C.longlong) C.longlong { return n + 1 }

var (
	gen *snowfence.Generator // C has no other place to keep it
	dst = make([]snowfence.ID, 1024)
)

// begin makes the generator of fill, and returns 0, or 1 if it cannot.
//
//export begin
func begin(layout *C.char) C.int {
	l, err := snowfence.ParseLayout(C.GoString(layout))
	if err != nil {
		return 1
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		return 1
	}
	gen, err = snowfence.New(snowfence.Config{Fence: snowfence.Unguarded(s, 1), Lead: 1000, MaxWait: time.Minute})
	if err != nil {
		return 1
	}
	return 0
}

// fill makes 1024 IDs, n times, and returns 0, or 1 if it cannot.
//
//export fill
func fill(n C.longlong) C.int {
	for range n {
		if _, err := gen.Fill(context.Background(), dst); err != nil {
			return 1
		}
	}
	return 0
}
