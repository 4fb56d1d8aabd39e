//go:build unix

package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
)

// sameIndexes reads all records of a store as they lie in Redis, makes the indexes anew
// by a second implementation, and compares.
func sameIndexes(t testing.TB, c rueidis.Client, prefix string) {
	t.Helper()
	ctx := context.Background()
	names, err := c.Do(ctx, c.B().Smembers().Key(prefix+":{@}:namespaces").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		sameIndex(t, c, prefix+":{"+name+"}:")
	}
}

// sameIndex checks the indexes of one namespace, whose keys begin with base. A lease may renew in
// the meantime, so it looks until the records were the same before and after.
func sameIndex(t testing.TB, c rueidis.Client, base string) {
	t.Helper()
	ctx := context.Background()
	read := func() map[string]string {
		records, err := c.Do(ctx, c.B().Hgetall().Key(base+"records").Build()).AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	indexes := []string{"nodes", "until", "vacant", "labels"}
	records := read()
	got := map[string][]string{}
	for unchanged := false; !unchanged; {
		for _, index := range indexes {
			members, err := c.Do(ctx, c.B().Zrange().Key(base+index).Min("0").Max("-1").Build()).AsStrSlice()
			if err != nil {
				t.Fatal(err)
			}
			got[index] = members
		}
		after := read()
		unchanged = maps.Equal(records, after)
		records = after
	}
	want := map[string][]string{}
	for node, value := range records {
		nonce, err1 := strconv.ParseInt(value[18:26], 16, 64)
		label, err2 := strconv.ParseInt(value[26:34], 16, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s%s: %q", base, node, value)
		}
		until := value[1:17]
		want["nodes"] = append(want["nodes"], node)
		want["until"] = append(want["until"], until+node)
		if value[17] == 'v' {
			want["vacant"] = append(want["vacant"], until+node)
		}
		want["labels"] = append(want["labels"], value[26:34]+value[34+nonce:34+nonce+label]+node)
	}
	for _, index := range indexes {
		slices.Sort(want[index])
		if !slices.Equal(got[index], want[index]) {
			t.Errorf("%s%s of %d records: %s", base, index, len(records), difference(got[index], want[index]))
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
