package sonyflake

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// The zero Sonyflake ended the program with a nil pointer.
func TestZeroSonyflake(t *testing.T) {
	var sf Sonyflake
	_, next := sf.NextID()
	_, waits := sf.NextIDContext(t.Context())
	_, composed := Compose(&sf, time.Now(), 1, 1)
	for name, err := range map[string]error{"NextID": next, "NextIDContext": waits, "Compose": composed} {
		tests.WantErr(t, err, snowfence.ErrClosed, "%s", name)
	}
	tests.WantErr(t, sf.Close(), nil, "Close")
}
