package randflake

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The original refuses to read IDs from 2041 on, although it makes them.
func TestInspectAfter2041(t *testing.T) {
	now := int64(RANDFLAKE_EPOCH_OFFSET + 1<<29)
	g := generator(t, RANDFLAKE_MAX_NODE, now, RANDFLAKE_MAX_TIMESTAMP, &now)
	for _, at := range []int64{now, now + 12345, RANDFLAKE_MAX_TIMESTAMP} {
		now = at
		if m := generate(t, g); m != (made{at, RANDFLAKE_MAX_NODE, 0}) {
			t.Errorf("%+v at %s", m, time.Unix(at, 0))
		}
	}
}

func TestSecretShowsNowhere(t *testing.T) {
	secret := secretOf(t)
	now := int64(noon)
	g := generator(t, 7, noon, noon, &now)
	generate(t, g)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", g)
	}
	text := strings.ToLower(out.String())
	for _, part := range []string{
		hex.EncodeToString(secret[:4]), string(secret[:4]), strings.Trim(fmt.Sprint(secret[:4]), "[]"),
	} {
		if strings.Contains(text, strings.ToLower(part)) {
			t.Errorf("the secret shows as %q", part)
		}
	}
}
