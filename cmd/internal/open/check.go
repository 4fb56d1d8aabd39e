package open

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Check returns what is wrong with the form of a URL, without connecting to the store. ""
// is the user's own file.
func Check(rawURL string) error {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	kind, ok := servers[scheme]
	switch {
	case rawURL == "", rawURL == "mem:":
		return nil
	case scheme == "sqlite":
		_, err := sqlitePath(rest)
		return err
	case ok:
		_, err := parseAddress(scheme, rest, kind.port)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a URL of no known kind is refused before anything is asked
	_, err := Open(ctx, rawURL)
	if err == nil || !errors.Is(err, ErrURL) {
		return fmt.Errorf("%w has no scheme: write %s", ErrURL, Schemes)
	}
	return err
}
