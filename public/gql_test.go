package public_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/public"
)

type user struct{}

var userMask, _ = public.NewMask(snowfence.GenerateSecret())

func (user) Prefix() public.Prefix {
	return public.NoPrefix(snowfence.Base32Hex).Masked(userMask)
}

type userID = public.ID[user]

// scalar is what gqlgen wants of a type: its Marshaler and its Unmarshaler.
type scalar interface {
	MarshalGQL(w io.Writer)
	UnmarshalGQL(v any) error
}

func TestGraphQL(t *testing.T) {
	var id snowfence.ID
	var order OrderID
	var user userID
	for _, v := range []struct {
		to   scalar
		from any
		want string // "" for an error
	}{
		{&id, "-42", `"-42"`},
		{&id, 42, `"42"`},
		{&id, int64(249887800817025024), `"249887800817025024"`},
		{&id, json.Number("249887800817025024"), `"249887800817025024"`},
		{&id, json.Number("4.2e1"), ""},
		{&id, 42.0, ""},
		{&id, "x", ""},
		{&id, nil, ""},
		{&order, "ord_1a", `"ord_1a"`},
		{&order, "cus_1a", ""},
		{&order, int64(42), ""},
		{&user, "1a", `"1a"`},
		{&user, int64(42), ""},
	} {
		err := v.to.UnmarshalGQL(v.from)
		if v.want == "" {
			tests.WantErr(t, err, snowfence.ErrInvalidID, "%T from %v", v.to, v.from)
			continue
		}
		var out strings.Builder
		v.to.MarshalGQL(&out)
		if err != nil || out.String() != v.want {
			t.Errorf("%T from %v: %s, %v; want %s", v.to, v.from, out.String(), err, v.want)
		}
	}
}
