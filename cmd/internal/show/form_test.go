package show

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/snowfence/snowfence"
)

// Both forms write what github.com/bwmarrin/snowflake writes: FormatInt in
// base 2, and the bytes of the decimal text in the standard base 64.
func TestFormsOfBwmarrin(t *testing.T) {
	for _, id := range []snowfence.ID{
		0, 1, -1, 5, 116766, 2059251669962588160, 2030363824686628863, math.MaxInt64, math.MinInt64,
	} {
		for f, want := range map[Form]string{
			base2{}:      strconv.FormatInt(int64(id), 2),
			bwmarrin64{}: base64.StdEncoding.EncodeToString([]byte(strconv.FormatInt(int64(id), 10))),
		} {
			text := f.Append([]byte("x"), id)
			if got, err := f.ParseBytes(text[1:]); string(text) != "x"+want || got != id || err != nil ||
				len(want) > f.MaxLen()+1 {
				t.Errorf("%s of %d: %s, read as %d, %v", f.Name(), id, text, got, err)
			}
		}
	}
	for f, texts := range map[Form][]string{
		base2{}:      {"", "-", "+1", "2", "1_0", " 1", "0x1", "1" + strconv.FormatInt(math.MaxInt64, 2), "--1"},
		bwmarrin64{}: {"", "MQ", "MQ==\n", "MR==", "eA==", "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkw", "$$$$", "KzU="},
	} {
		for _, text := range texts {
			var syntax *snowfence.SyntaxError
			if id, err := f.ParseBytes([]byte(text)); !errors.As(err, &syntax) || syntax.Offset > len(text) {
				t.Errorf("%s %q: %d, %v", f.Name(), text, id, err)
			}
		}
	}
}
