package sonyflake

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// Compose of the zero Sonyflake divided by zero, and NextID said that its
// time was over.
func TestZeroSonyflake(t *testing.T) {
	var sf Sonyflake
	_, next := sf.NextID()
	_, waits := sf.NextIDContext(t.Context())
	_, composed := sf.Compose(time.Now(), 1, 1)
	for name, err := range map[string]error{"NextID": next, "NextIDContext": waits, "Compose": composed} {
		tests.WantErr(t, err, snowfence.ErrClosed, "%s", name)
	}
	if err := sf.Close(); err != nil || sf.ToTime(5).IsZero() || sf.Decompose(5)["id"] != 5 {
		t.Errorf("Close: %v; or ToTime or Decompose", err)
	}
}
