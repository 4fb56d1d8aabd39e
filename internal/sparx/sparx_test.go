package sparx

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// eachPath runs a test on every path that this CPU has.
func eachPath(t *testing.T, test func(t *testing.T, p Path)) {
	t.Helper()
	for _, p := range Available() {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

func unhex(s string) []byte {
	return must(hex.DecodeString(s))
}

// TestPaper has the vector that stands in the cipher's paper.
func TestPaper(t *testing.T) {
	key := unhex("00112233445566778899aabbccddeeff")
	plain := unhex("0123456789abcdef")
	want := unhex("2bbef15201f55f98")
	eachPath(t, func(t *testing.T, p Path) {
		c := must(newOn(p, key))
		x, y := binary.LittleEndian.Uint64(plain), binary.LittleEndian.Uint64(want)
		if got := c.Encrypt64(x); got != y {
			t.Errorf("%#x encrypts to %#x, want %#x", x, got, y)
		}
		if got := c.Decrypt64(y); got != x {
			t.Errorf("%#x decrypts to %#x, want %#x", y, got, x)
		}
	})
}

// TestRandflake has IDs that the Randflake library made.
func TestRandflake(t *testing.T) {
	data := must(os.ReadFile("testdata/randflake.json"))
	var vectors []struct {
		Secret    string
		Raw       string `json:"raw_id"`
		Encrypted string `json:"encrypted_id"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err, len(vectors))
	}
	eachPath(t, func(t *testing.T, p Path) {
		for _, v := range vectors {
			c := must(newOn(p, unhex(v.Secret)))
			raw, err1 := strconv.ParseInt(v.Raw, 10, 64)
			want, err2 := strconv.ParseInt(v.Encrypted, 10, 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if got := int64(c.Encrypt64(uint64(raw))); got != want {
				t.Errorf("Encrypt64(%d) = %d, want %d", raw, got, want)
			}
			if got := int64(c.Decrypt64(uint64(want))); got != raw {
				t.Errorf("Decrypt64(%d) = %d, want %d", want, got, raw)
			}
			batch := make([]uint64, 300)
			for i := range batch {
				batch[i] = uint64(raw)
			}
			c.EncryptBlocks(batch)
			for i, got := range batch {
				if int64(got) != want {
					t.Fatalf("EncryptBlocks: [%d] = %d, want %d", i, int64(got), want)
				}
			}
		}
	})
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// says reports an error without a text, and a call without an error.
var says = tests.Says
