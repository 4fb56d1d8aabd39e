package sonyflake

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Compose of the zero Sonyflake divided by zero, and NextID said that its
// time was over.
func TestZeroSonyflake(t *testing.T) {
	var sf Sonyflake
	_, next := sf.NextID()
	_, waits := sf.NextIDContext(t.Context())
	_, composed := sf.Compose(time.Now(), 1, 1)
	for name, err := range map[string]error{"NextID": next, "NextIDContext": waits, "Compose": composed} {
		if !errors.Is(err, snowfence.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sf.Close(); err != nil || sf.ToTime(5).IsZero() || sf.Decompose(5)["id"] != 5 {
		t.Errorf("Close: %v; or ToTime or Decompose", err)
	}
}
