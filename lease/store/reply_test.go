package store

import (
	"context"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// fickle is a store whose reads another one answers.
type fickle struct{ *Memory }

func (f fickle) Get(ctx context.Context, keys []Key) ([]Record, Reply, error) {
	rs, reply, err := f.Memory.Get(ctx, keys)
	reply.Identity = "another"
	return rs, reply, err
}

// An addition counts only where one store carries out all of it.
func TestAdditionOfTwoStores(t *testing.T) {
	key := Key{Namespace: "#n", Node: 1}
	for i := range 2 {
		st := NewMemory()
		tests.Must(Put(t.Context(), st, Write{New: Record{Key: key, Nonce: "x"}}))
		add := Addition{Key: key, N: 1, Limit: 5, Nonce: "y"}
		var err error
		if i == 0 {
			_, _, err = Add(t.Context(), st, add)
		} else {
			_, _, err = Add(t.Context(), fickle{st}, add)
		}
		if (err != nil) != (i == 1) {
			t.Errorf("%d: %v", i, err)
		}
	}
	var r Reply
	if err := r.Join(Reply{Identity: "a"}); err != nil || r.Identity != "a" {
		t.Errorf("the first part: %+v, %v", r, err)
	}
	if err := r.Join(Reply{Identity: "b"}); err == nil || r.Identity != "a" {
		t.Errorf("a part of another store: %+v, %v", r, err)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		now, before string
		same, less  bool
	}{
		{"", "", true, false},
		{"a:1:2", "a:1:2", true, false},
		{"a:1:-", "a:1:-", true, false},
		{"a:1:3", "a:1:2", false, false},
		{"a:1", "a:1:2", false, false},
		{"a:-:2", "a:1:2", true, true},
		{"a:1:2", "a:-:2", true, false},
		{"a:-:2", "a:1:-", true, true},
		{"a:-:3", "a:1:2", false, false},
		{"a:1:3", "a:-:2", false, false},
	} {
		if same, less := Compare(c.now, c.before); same != c.same || less != c.less {
			t.Errorf("%q after %q: same %t, less %t", c.now, c.before, same, less)
		}
	}
}

// A name has 1 to 64 letters, digits, '-', '_' and '.'. "curl /v1/../next"
// and "snowfence … -" reached another namespace, or none.
func TestNames(t *testing.T) {
	const good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	for c := range 256 {
		name := string([]byte{byte(c)})
		if err := CheckName("a" + name); (err == nil) != strings.Contains(good, name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, 64: true, 65: false} {
		if err := CheckName(strings.Repeat("a", n)); (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
	for name, ok := range map[string]bool{
		".": false, "..": false, "-": false, "...": true, "a.": true, "-a": true, "--": true, "_": true,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
