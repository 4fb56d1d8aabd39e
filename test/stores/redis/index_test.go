//go:build unix

package redis

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/rueidis"
)

// sameIndexes reads all records of a store as they lie in Redis, and
// compares each set of nodes with the records.
func sameIndexes(t testing.TB, c rueidis.Client, prefix string) {
	t.Helper()
	ctx := context.Background()
	names, err := c.Do(ctx, c.B().Smembers().Key(prefix+":{@}:namespaces").Build()).AsStrSlice()
	must(t, err)
	for _, name := range names {
		base := prefix + ":{" + name + "}:"
		got, err := c.Do(ctx, c.B().Zrange().Key(base+"nodes").Min("0").Max("-1").Build()).AsStrSlice()
		must(t, err)
		want, err := c.Do(ctx, c.B().Hkeys().Key(base+"records").Build()).AsStrSlice()
		must(t, err)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%snodes: %s", base, difference(got, want))
		}
	}
}

func difference(got, want []string) string {
	var extra, missing []string
	for _, m := range got {
		if !slices.Contains(want, m) {
			extra = append(extra, m)
		}
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			missing = append(missing, m)
		}
	}
	return fmt.Sprintf("%d members for %d; extra %q, missing %q", len(got), len(want), extra, missing)
}
