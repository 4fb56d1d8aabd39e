package snowfence_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

// scalar is what gqlgen wants of a type: its Marshaler and its Unmarshaler.
type scalar interface {
	MarshalGQL(w io.Writer)
	UnmarshalGQL(v any) error
}

func TestGraphQL(t *testing.T) {
	var id snowfence.ID
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
	} {
		err := v.to.UnmarshalGQL(v.from)
		if v.want == "" {
			if !errors.Is(err, snowfence.ErrInvalidID) {
				t.Errorf("%T from %v: %v", v.to, v.from, err)
			}
			continue
		}
		var out strings.Builder
		v.to.MarshalGQL(&out)
		if err != nil || out.String() != v.want {
			t.Errorf("%T from %v: %s, %v; want %s", v.to, v.from, out.String(), err, v.want)
		}
	}
}
