package public_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/public"
)

func testMask() *public.Mask {
	k, err := snowfence.NewSecret([]byte("a mask's own key"))
	if err != nil {
		panic(err)
	}
	m, err := public.NewMask(k)
	if err != nil {
		panic(err)
	}
	return m
}

type masked struct{}

func (masked) Prefix() public.Prefix {
	return public.NoPrefix(snowfence.Base32Hex).Masked(testMask())
}

func TestMask(t *testing.T) {
	m := testMask()
	draw.Check(t, func(t *draw.T) {
		id := snowfence.ID(int64(t.Word()))
		if got := m.Private(m.Public(id)); got != id {
			t.Fatalf("%d comes back as %d", id, got)
		}
	})
	type row struct {
		ID    public.ID[masked]
		Other public.ID[masked] `json:",omitempty"`
	}
	in := row{ID: 2083727055179621056}
	text := tests.Must(json.Marshal(in))
	if want := `{"ID":"` + snowfence.Base32Hex.Encode(m.Public(snowfence.ID(in.ID))) + `"}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var out row
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("%+v, %v", out, err)
	}
	if v, err := in.ID.Value(); err != nil || v != int64(2083727055179621056) {
		t.Errorf("the database gets %v, %v", v, err)
	}
	if err := out.Other.Scan(int64(77)); err != nil || out.Other != 77 {
		t.Errorf("scanned %d, %v", int64(out.Other), err)
	}
	tests.WantErr(t, out.ID.UnmarshalText([]byte("not an ID!")), snowfence.ErrInvalidID, "")
}

// %d of a masked ID wrote the private ID, so a log showed what the type is
// there to hide.
func TestNoVerbWritesThePrivateID(t *testing.T) {
	const id = public.ID[masked](2083727055179621056)
	public := testMask().Public(snowfence.ID(id))
	for verb, want := range map[string]string{
		"%v": id.String(), "%s": id.String(), "%+v": id.String(), "%q": `"` + id.String() + `"`,
		"%#v": `"` + id.String() + `"`,
		"%d":  fmt.Sprint(int64(public)), "%x": fmt.Sprintf("%x", uint64(public)),
		"%X": fmt.Sprintf("%X", uint64(public)), "%o": fmt.Sprintf("%o", uint64(public)),
		"%b": fmt.Sprintf("%b", uint64(public)),
	} {
		if got := fmt.Sprintf(verb, id); got != want {
			t.Errorf("%s writes %s, want %s", verb, got, want)
		}
	}
	for _, verb := range []string{"%c", "%U", "%t", "%e", "%g", "%T"} {
		if got := fmt.Sprintf(verb, id); strings.Contains(got, "2083727055179621056") {
			t.Errorf("%s writes %s", verb, got)
		}
	}
	if got := fmt.Sprint(struct{ id any }{id}); got != "{2083727055179621056}" {
		t.Errorf("%s: fmt calls methods of unexported fields: say so in the comment of ID", got)
	}
}

type unset struct{}

func (unset) Prefix() public.Prefix { return public.Prefix{} }

type unmasked struct{}

func (unmasked) Prefix() public.Prefix {
	return public.MustPrefix("usr", snowfence.Base32Hex).Masked(nil)
}

// A mask that was not made yet ended the program with a nil pointer. No
// private ID is shown either.
func TestPrefixThatIsNotReady(t *testing.T) {
	for name, id := range map[string]interface {
		json.Marshaler
		fmt.Stringer
	}{"zero prefix": public.ID[unset](2083727055179621056), "nil mask": public.ID[unmasked](2083727055179621056)} {
		tests.WantErr(t, tests.ErrOf(id.MarshalJSON()), snowfence.ErrKey, "%s", name)
		for _, text := range []string{fmt.Sprintf("%d %x %v %s", id, id, id, id), id.String()} {
			if !strings.HasPrefix(text, "!(") || strings.Contains(text, "2083727055179621056") {
				t.Errorf("%s writes %s", name, text)
			}
		}
	}
	var u public.ID[unmasked]
	tests.WantErr(t, u.UnmarshalText([]byte("usr_1")), snowfence.ErrInvalidID, "")
}

// A check character finds what a mask cannot: any other text is some ID,
// too.
func TestMaskedPrefixWithCheck(t *testing.T) {
	p := public.MustPrefix("cus", snowfence.CrockfordCheck).Masked(testMask())
	text := p.Encode(2083727055179621056)
	if id, err := p.Parse(text); id != 2083727055179621056 || err != nil {
		t.Errorf("%s: %d, %v", text, id, err)
	}
	typo := []byte(text)
	typo[5], typo[6] = typo[6], typo[5]
	if _, err := p.Parse(string(typo)); typo[5] != typo[6] && err == nil {
		t.Errorf("%s passes as %s", typo, text)
	}
}

// A mask needs a secret.
func TestMaskWithoutSecret(t *testing.T) {
	for _, none := range []*snowfence.Secret{nil, {}} {
		if m, err := public.NewMask(none); !errors.Is(err, snowfence.ErrKey) ||
			!strings.Contains(err.Error(), "empty") {
			t.Errorf("%v, %v", m, err)
		}
	}
}

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
