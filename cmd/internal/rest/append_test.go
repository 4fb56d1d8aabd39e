package rest

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence"
)

// JSON of IDs is what encoding/json makes of the same texts.
func TestIDEncoder(t *testing.T) {
	for _, ids := range [][]snowfence.ID{{0}, {1, 2}, {2104672976770170879, 9223372036854775807, 42}} {
		var got struct{ IDs []string }
		var enc, whole idEncoder
		b := enc.append([]byte("x"), ids[:1])
		for i := 1; i < len(ids); i++ {
			b = enc.append(b, ids[i:i+1])
		}
		b = enc.end(b)
		if b[0] != 'x' {
			t.Fatalf("%q lost what was there before", b)
		}
		if len(ids) > 1 && string(b[1:]) != string(whole.end(whole.append(nil, ids))) {
			t.Errorf("%q in pieces is another text than at once", b)
		}
		if err := json.Unmarshal(b[1:], &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if len(got.IDs) != len(ids) {
			t.Fatalf("%s has %d IDs, want %d", b, len(got.IDs), len(ids))
		}
		for i, id := range ids {
			if got.IDs[i] != strconv.FormatInt(int64(id), 10) {
				t.Errorf("ID %d of %s, want %d", i, b, int64(id))
			}
		}
	}
}
