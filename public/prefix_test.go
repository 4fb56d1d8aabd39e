package public_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/public"
)

// A kind of thing, and the type of its IDs.
type order struct{}

func (order) Prefix() public.Prefix { return orderPrefix }

var orderPrefix = public.MustPrefix("ord", snowfence.Base32Hex)

type OrderID = public.ID[order]

var (
	_ fmt.Stringer             = OrderID(0)
	_ encoding.TextAppender    = OrderID(0)
	_ encoding.TextMarshaler   = OrderID(0)
	_ encoding.TextUnmarshaler = (*OrderID)(nil)
	_ driver.Valuer            = OrderID(0)
	_ sql.Scanner              = (*OrderID)(nil)
)

func ExampleID() {
	type request struct{ Order OrderID }

	text, _ := json.Marshal(request{4594531474933654033})
	fmt.Println(string(text))

	var r request
	fmt.Println(json.Unmarshal([]byte(`{"Order":"usr_3vgoe12ccb8gh"}`), &r))

	// Output:
	// {"Order":"ord_3vgoe12ccb8gh"}
	// invalid ID: cannot read "usr_3vgoe12ccb8gh" as base32hex: the prefix is wrong: expected "ord_", got "usr_" (byte 0)
}

func TestNewPrefix(t *testing.T) {
	for _, name := range []string{"a", "ord", "line_item", "v2", "a__b", strings.Repeat("a", 63)} {
		p, err := public.NewPrefix(name, snowfence.Hex)
		if err != nil || p.Encode(255) != name+"_ff" {
			t.Errorf("%s: got %s, %v", name, p.Encode(255), err)
		}
	}
	for name, want := range map[string]string{
		"":                        "is empty",
		"Ord":                     "does not start",
		"2nd":                     "does not start",
		"_a":                      "does not start",
		"a_":                      "ends with _",
		"_":                       "does not start",
		"a-b":                     "byte 1, \"-\"",
		"aB":                      "byte 1, \"B\"",
		"aé":                      "byte 1, \"\\xc3\"",
		strings.Repeat("a", 64):   "more than 63",
		strings.Repeat("é", 1<<9): "more than 63",
	} {
		p, err := public.NewPrefix(name, snowfence.Hex)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 || p != (public.Prefix{}) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

func TestMustPrefixPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	public.MustPrefix("Ord", snowfence.Hex)
}

var someIDs = []snowfence.ID{0, 1, -1, 1<<53 + 1, 4594531474933654033, math.MaxInt64, math.MinInt64}

func TestPrefixRoundTrip(t *testing.T) {
	for _, enc := range snowfence.Encodings() {
		for _, enc := range []snowfence.Encoding{enc, enc.Fixed()} {
			p := public.MustPrefix("line_item", enc)
			for _, id := range someIDs {
				text := p.Encode(id)
				if want := "line_item_" + enc.Encode(id); text != want {
					t.Errorf("got %s, want %s", text, want)
				}
				if got, err := p.Parse(text); got != id || err != nil {
					t.Errorf("%s: got %d, %v, want %d", text, got, err, id)
				}
				dst := make([]byte, 0, 64)
				if n := testing.AllocsPerRun(10, func() { dst = p.Append(dst[:0], id) }); n != 0 ||
					string(dst) != text {
					t.Errorf("%s: appended %s with %v allocations", text, dst, n)
				}
			}
		}
	}
	alone := public.NoPrefix(snowfence.Decimal)
	if got, err := alone.Parse(alone.Encode(-42)); got != -42 || alone.Encode(-42) != "-42" || err != nil {
		t.Errorf("without a name: %d, %q, %v", got, alone.Encode(-42), err)
	}
}

func TestPrefixParseErrors(t *testing.T) {
	for _, v := range []struct {
		text   string
		offset int
		reason string
	}{
		{"", 0, `expected "ord_", got none`},
		{"3vgoe12ccb8gh", 0, `expected "ord_", got none`},
		{"usr_3vgoe12ccb8gh", 0, `expected "ord_", got "usr_"`},
		{"ORD_3vgoe12ccb8gh", 0, `expected "ord_", got "ORD_"`},
		{"ord-3vgoe12ccb8gh", 0, `expected "ord_", got none`},
		{"old_ord_3vgoe12ccb8gh", 0, `expected "ord_", got "old_ord_"`},
		{"ord_", 4, "is empty"},
		{"ord_x", 4, "'x' is not a digit"},
		{"ord_1-", 5, "'-' is not a digit"},
		{"ord__1", 4, "'_' is not a digit"},
		{"ord_g000000000000", 16, "64 bits"},
		{strings.Repeat("x", 1<<20) + "_1", 0, "got"},
	} {
		id, err := orderPrefix.Parse(v.text)
		var syntax *snowfence.SyntaxError
		if !errors.As(err, &syntax) || !errors.Is(err, snowfence.ErrInvalidID) || id != 0 {
			t.Errorf("%.30q: got %d, %v", v.text, id, err)
			continue
		}
		if syntax.Offset != v.offset || !strings.Contains(syntax.Reason, v.reason) || len(err.Error()) > 300 {
			t.Errorf("%.30q: got %v, want %q at byte %d", v.text, err, v.reason, v.offset)
		}
	}
}

func TestTypedIDs(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		type record struct {
			Order OrderID
			Opt   *OrderID `json:",omitempty"`
			Count map[OrderID]int
		}
		id := OrderID(int64(t.Word()))
		in := record{Order: id, Count: map[OrderID]int{id: 1}}
		text, err := json.Marshal(in)
		tests.NoError(t, err)
		want := "ord_" + snowfence.Base32Hex.Encode(snowfence.ID(id))
		if string(text) != fmt.Sprintf(`{"Order":%q,"Count":{%[1]q:1}}`, want) || fmt.Sprint(id) != want {
			t.Fatalf("%s, %v", text, id)
		}
		var out record
		if err := json.Unmarshal(text, &out); err != nil || out.Order != id || out.Count[id] != 1 {
			t.Fatalf("%s: got %v, %v", text, out, err)
		}
	})
	// encoding/json removes the quotes of a field with this tag before it
	// asks the type.
	var tagged struct {
		Order OrderID `json:",string"`
	}
	if text, err := json.Marshal(tagged); err != nil || json.Unmarshal(text, &tagged) != nil {
		t.Errorf("%s, %v does not read back", text, err)
	}
	id := OrderID(5)
	if err := json.Unmarshal([]byte(`null`), &id); err != nil || id != 5 {
		t.Errorf("null: got %d, %v", int64(id), err)
	}
	for _, text := range []string{`7`, `"7"`, `"usr_7"`, `""`, `"ord_w"`} {
		if err := json.Unmarshal([]byte(text), &id); err == nil || id != 5 {
			t.Errorf("%s: got %d, %v", text, int64(id), err)
		}
	}
	if err := id.Scan(int64(math.MinInt64)); err != nil || id != math.MinInt64 {
		t.Errorf("got %d, %v", int64(id), err)
	}
	if value, err := id.Value(); value != int64(math.MinInt64) || err != nil {
		t.Errorf("got %v, %v", value, err)
	}
	tests.WantErr(t, id.Scan(nil), snowfence.ErrInvalidID, "NULL")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "order", OrderID(31))
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "order", OrderID(31))
	if got := log.String(); !strings.Contains(got, "order=ord_v") || !strings.Contains(got, `"order":"ord_v"`) {
		t.Errorf("logged as %s", got)
	}
}

// %x of a Typed wrote the characters of its text in hexadecimal.
func TestTypedFormat(t *testing.T) {
	for _, v := range []struct {
		format string
		id     OrderID
		want   string
	}{
		{"%v", 42, "ord_1a"},
		{"%s", 42, "ord_1a"},
		{"%+v", 42, "ord_1a"},
		{"%q", 42, `"ord_1a"`},
		{"%#v", 42, `"ord_1a"`},
		{"%8v|", 42, "  ord_1a|"},
		{"%-8s|", 42, "ord_1a  |"},
		{"%d", -42, "-42"},
		{"%06d", 42, "000042"},
		{"%x", 255, "ff"},
		{"%#X", 255, "0XFF"},
		{"%016x", -1, "ffffffffffffffff"},
		{"%b", 5, "101"},
	} {
		if got := fmt.Sprintf(v.format, v.id); got != v.want {
			t.Errorf("%s of %d: got %s, want %s", v.format, int64(v.id), got, v.want)
		}
	}
}

func FuzzParsePrefix(f *testing.F) {
	f.Add("ord", "ord_3vgoe12ccb8gh")
	f.Add("a_b", "a_b_0")
	f.Add("a", "a_b_0")
	f.Add("ord", "usr_1")
	f.Add("ord", strings.Repeat("_", 1000))
	f.Fuzz(func(t *testing.T, name, s string) {
		for _, e := range snowfence.Encodings() {
			p, err := public.NewPrefix(name, e)
			if err != nil {
				if len(err.Error()) > 600 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				return
			}
			id, err := p.Parse(s)
			if err != nil {
				var syntax *snowfence.SyntaxError
				if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(s) || len(err.Error()) > 900 {
					t.Errorf("%q: %v", s, err)
				}
				continue
			}
			if !strings.HasPrefix(s, name+"_") {
				t.Errorf("%q has not the prefix %s_", s, name)
			}
			if again, err := p.Parse(p.Encode(id)); again != id || err != nil {
				t.Errorf("%q: got %d, then %d, %v", s, id, again, err)
			}
		}
	})
}
