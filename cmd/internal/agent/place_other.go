//go:build !linux

package agent

import (
	"errors"
	"fmt"
	"os"
)

// errNoPlace is why no state is kept beside a socket.
var errNoPlace = errors.New("no state is kept here")

// takePlace keeps nothing: only Linux has a file system in memory whose files have one number for
// ever.
func takePlace(string) (*os.File, place, error) {
	return nil, place{}, fmt.Errorf("%w: this is not Linux", errNoPlace)
}

// numberOf is not used here.
func numberOf(*os.File) (n [2]uint64, err error) { return n, errNoPlace }
