package audit

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What jsonField finds is what encoding/json finds.
func FuzzJSONField(f *testing.F) {
	for _, s := range []string{`{"id":1}`, `{"a":{"id":"x"},"id":"\u0031"}`, `{"id":1,"id":[2]}`, `{}`, `[{"id":1}]`, `{"i\u0064": -1.5e3 , "b":"\\"}`, `{"id":nul}`, `{"":{"":[[]]},"id":"}"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return
		}
		got, err := jsonField(line, "id")
		var object map[string]json.RawMessage
		want := ""
		if json.Unmarshal(line, &object) == nil {
			if v, ok := object["id"]; ok && (v[0] == '"' || v[0] == '-' || v[0] >= '0' && v[0] <= '9') {
				want = string(v)
			}
		}
		if string(got) != want || (err != nil) != (want == "") {
			t.Fatalf("%q: %q, %v; want %q", line, got, err, want)
		}
	})
}

// A table is read the same with and without the fast way for lines without quotes.
func FuzzTable(f *testing.F) {
	for _, s := range []string{
		"id\n1\n2\n", "a,id\nx,1\n\"y\nz\",2\n", "id;b\r\n3;\r\n", "\tid\n\t5\n\"", "id,b\n1,\"2\"\"\"\n4\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		format := Format{Column: "1"}
		got, err := read(bytes.NewReader(text), format)
		if err != nil || bytes.IndexByte(text, '"') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
			return
		}
		heading, _, _ := bytes.Cut(text, []byte{'\n'})
		want := &Batch{}
		tab, skip, err := newTable(format, heading)
		if err != nil {
			t.Fatal(err)
		}
		rest, before := text, int64(0)
		if skip {
			_, rest, _ = bytes.Cut(text, []byte{'\n'})
			before = 1
		}
		if err := tab.records(bytes.NewReader(rest), before, func(b *Batch) error {
			want.IDs = append(want.IDs, b.IDs...)
			want.BadN += b.BadN
			return nil
		}); err != nil {
			return
		}
		if len(got.ids) != len(want.IDs) || got.badN != want.BadN {
			t.Fatalf("%q: %v, %d bad; want %v, %d", text, got.ids, got.badN, want.IDs, want.BadN)
		}
	})
}
