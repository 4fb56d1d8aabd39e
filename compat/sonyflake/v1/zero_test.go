package sonyflake

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// The zero Sonyflake ended the program with a nil pointer.
func TestZeroSonyflake(t *testing.T) {
	var sf Sonyflake
	_, next := sf.NextID()
	_, waits := sf.NextIDContext(t.Context())
	_, composed := Compose(&sf, time.Now(), 1, 1)
	for name, err := range map[string]error{"NextID": next, "NextIDContext": waits, "Compose": composed} {
		if !errors.Is(err, snowfence.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sf.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
