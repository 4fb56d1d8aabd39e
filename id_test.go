package snowfence_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
)

var (
	_ fmt.Stringer               = snowfence.ID(0)
	_ encoding.TextAppender      = snowfence.ID(0)
	_ encoding.TextMarshaler     = snowfence.ID(0)
	_ encoding.TextUnmarshaler   = (*snowfence.ID)(nil)
	_ encoding.BinaryMarshaler   = snowfence.ID(0)
	_ encoding.BinaryUnmarshaler = (*snowfence.ID)(nil)
	_ json.Marshaler             = snowfence.ID(0)
	_ json.Unmarshaler           = (*snowfence.ID)(nil)
	_ driver.Valuer              = snowfence.ID(0)
	_ sql.Scanner                = (*snowfence.ID)(nil)
)

// alias is another type with the bits of an ID.
type alias int64

var someIDs = []snowfence.ID{0, 1, -1, 1<<53 + 1, 4594531474933654033, math.MaxInt64, math.MinInt64}

func TestIDRoundTrips(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, id snowfence.ID) {
		type record struct {
			ID   snowfence.ID
			Opt  *snowfence.ID
			Keys map[snowfence.ID]snowfence.ID
		}
		in := record{id, &id, map[snowfence.ID]snowfence.ID{id: id}}
		text, err := json.Marshal(in)
		if want := fmt.Sprintf(`{"ID":"%d","Opt":"%[1]d","Keys":{"%[1]d":"%[1]d"}}`, int64(id)); string(text) != want || err != nil {
			t.Errorf("JSON of %d: got %s, %v, want %s", id, text, err, want)
		}
		var out record
		if err := json.Unmarshal(text, &out); err != nil || out.ID != id || *out.Opt != id || out.Keys[id] != id {
			t.Errorf("%s: got %v, %v", text, out, err)
		}

		plain, err := id.MarshalText()
		if want := fmt.Sprint(int64(id)); string(plain) != want || err != nil {
			t.Errorf("text of %d: got %s, %v", id, plain, err)
		}
		var again snowfence.ID
		if err := again.UnmarshalText(plain); err != nil || again != id {
			t.Errorf("%s: got %d, %v", plain, again, err)
		}

		binary, err := id.MarshalBinary()
		if want := fmt.Sprint(int64(id)); string(binary) != want || err != nil {
			t.Errorf("binary of %d: got %q, %v, want %s", id, binary, err, want)
		}
		raw, _ := hex.DecodeString(fmt.Sprintf("%016x", uint64(id)))
		for _, data := range [][]byte{binary, raw} {
			again = 0
			if err := again.UnmarshalBinary(data); err != nil || again != id {
				t.Errorf("%q: got %d, %v", data, again, err)
			}
		}

		value, err := id.Value()
		again = 0
		if err2 := again.Scan(value); value != int64(id) || err != nil || again != id || err2 != nil {
			t.Errorf("%d in a database: %v, %v, back as %d, %v", id, value, err, again, err2)
		}
	}
	for _, id := range someIDs {
		check(t, id)
	}
	draw.Check(t, func(t *draw.T) { check(t, snowfence.ID(int64(t.Word()))) })
}

func TestIDUnmarshalJSON(t *testing.T) {
	const before = 5
	for _, v := range []struct {
		text string
		want snowfence.ID
		err  string
	}{
		{`7`, 7, ""},
		{` "7" `, 7, ""},
		{`"007"`, 7, ""},
		{`-9223372036854775808`, math.MinInt64, ""},
		{`null`, before, ""},
		{`""`, before, "is empty"},
		{`"null"`, before, "'n' is not a digit"},
		{`1.0`, before, "'.' is not a digit"},
		{`1e3`, before, "'e' is not a digit"},
		{`9223372036854775808`, before, "unsigned IDs"},
		{`"-9223372036854775809"`, before, "out of range"},
		{`18446744073709551616`, before, "out of range"},
		{`" 7"`, before, "' ' is not a digit"},
		{`"\u0037"`, before, `'\\' is not a digit`},
		{`true`, before, "'t' is not a digit"},
		{`[7]`, before, "'[' is not a digit"},
		{`{}`, before, "'{' is not a digit"},
	} {
		id := snowfence.ID(before)
		err := json.Unmarshal([]byte(v.text), &id)
		if id != v.want {
			t.Errorf("%s: got %d, want %d", v.text, id, v.want)
		}
		if v.err == "" && err != nil ||
			v.err != "" && (!errors.Is(err, snowfence.ErrInvalidID) || !strings.Contains(err.Error(), v.err)) {
			t.Errorf("%s: got %v, want %q", v.text, err, v.err)
		}
	}
	// Not JSON, and so not what encoding/json passes on.
	for _, text := range []string{"", `"`, `"1`, `1"`} {
		wantErr(t, new(snowfence.ID).UnmarshalJSON([]byte(text)), snowfence.ErrInvalidID, "%s", text)
	}
}

func TestIDUnmarshalBinary(t *testing.T) {
	for _, n := range []int{0, 7, 9} {
		id := snowfence.ID(5)
		if err := id.UnmarshalBinary(make([]byte, n)); !errors.Is(err, snowfence.ErrInvalidID) || id != 5 {
			t.Errorf("%d bytes: got %d, %v", n, id, err)
		}
	}
}

func TestIDScan(t *testing.T) {
	const before = 5
	for _, v := range []struct {
		src  any
		want snowfence.ID
		err  string
	}{
		{int64(-7), -7, ""},
		{"7", 7, ""},
		{[]byte("-7"), -7, ""},
		{uint64(7), 7, ""},
		{uint64(math.MaxUint64), before, "it is the ID -1 here"},
		{nil, before, "sql.Null[snowfence.ID]"},
		{7.0, before, "float64"},
		{true, before, "bool"},
		{time.Time{}, before, "time.Time"},
		{"7.0", before, "'.' is not a digit"},
		{[]byte{}, before, "is empty"},
		{snowfence.ID(-7), -7, ""}, // ent's CreateBulk scans the ID that was inserted, after the insert
		{new(snowfence.ID), 0, ""},
		{new(alias), 0, ""},
		{(*snowfence.ID)(nil), before, "*snowfence.ID"},
	} {
		id := snowfence.ID(before)
		err := id.Scan(v.src)
		if id != v.want {
			t.Errorf("%T %v: got %d, want %d", v.src, v.src, id, v.want)
		}
		if v.err == "" && err != nil ||
			v.err != "" && (!errors.Is(err, snowfence.ErrInvalidID) || !strings.Contains(err.Error(), v.err)) {
			t.Errorf("%T %v: got %v, want %q", v.src, v.src, err, v.err)
		}
	}
}

// The error for NULL sends people to sql.Null, so that has to work.
func TestIDNull(t *testing.T) {
	var id sql.Null[snowfence.ID]
	if err := id.Scan(nil); err != nil || id.Valid {
		t.Errorf("NULL: got %v, %v", id, err)
	}
	if err := id.Scan(int64(7)); err != nil || !id.Valid || id.V != 7 {
		t.Errorf("7: got %v, %v", id, err)
	}
	value, err := driver.DefaultParameterConverter.ConvertValue(id)
	if value != int64(7) || err != nil {
		t.Errorf("got %T %v, %v", value, value, err)
	}
}

func TestIDFormat(t *testing.T) {
	for _, v := range []struct {
		format string
		id     snowfence.ID
		want   string
	}{
		{"%v", -7, "-7"},
		{"%d", -7, "-7"},
		{"%s", -7, "-7"},
		{"%q", -7, `"-7"`},
		{"%06d", 42, "000042"},
		{"%6v|", 42, "    42|"},
		{"%-6s|", 42, "42    |"},
		{"%x", 255, "ff"},
		{"%#X", 255, "0XFF"},
		{"%016x", -1, "ffffffffffffffff"},
		{"%b", 5, "101"},
		{"%o", 8, "10"},
	} {
		if got := fmt.Sprintf(v.format, v.id); got != v.want {
			t.Errorf("%s of %d: got %s, want %s", v.format, int64(v.id), got, v.want)
		}
	}
}

// The type needs no method of its own for logs.
func TestIDInLogs(t *testing.T) {
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("made", "id", snowfence.ID(4594531474933654033))
	if !strings.Contains(out.String(), `"id":"4594531474933654033"`) {
		t.Error(out.String())
	}
}
