package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
)

// reading is all that Read hands on, with the line of each ID.
type reading struct {
	ids   []snowfence.ID
	lines []int64
	bad   []int64
	badN  int64
}

func read(r io.Reader, f Format) (reading, error) {
	var got reading
	err := Read(r, f, func(b *Batch) error {
		for i, run := range b.Lines {
			end := len(b.IDs)
			if i+1 < len(b.Lines) {
				end = b.Lines[i+1].Index
			}
			for k := run.Index; k < end; k++ {
				got.lines = append(got.lines, run.Line+int64(k-run.Index))
			}
		}
		got.ids = append(got.ids, b.IDs...)
		for _, bad := range b.Bad {
			got.bad = append(got.bad, bad.Line)
		}
		got.badN += b.BadN
		return nil
	})
	return got, err
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     Format
		text  string
		ids   []snowfence.ID
		lines []int64
		bad   []int64
	}{
		{"nothing", Format{}, "", nil, nil, nil},
		{"decimal", Format{}, "1\n-2\n\n  3 \r\n4\r\n18446744073709551615\n-9223372036854775808\n9223372036854775807", []snowfence.ID{1, -2, 3, 4, -1, -1 << 63, 1<<63 - 1}, []int64{1, 2, 4, 5, 6, 7, 8}, nil},
		{"neighbours", Format{}, "14\n15\n16\n17\n18\n19\n20\n", []snowfence.ID{14, 15, 16, 17, 18, 19, 20}, []int64{1, 2, 3, 4, 5, 6, 7}, nil},
		{"bad decimal", Format{}, "1\nx\n-0\n-\n+1\n1 2\n18446744073709551616\n99999999999999999999999999\n-9223372036854775809\n2\n", []snowfence.ID{1, 2}, []int64{1, 10}, []int64{2, 3, 4, 5, 6, 7, 8, 9}},
		{"mark of UTF-8", Format{}, "\xef\xbb\xbf5\n6\n", []snowfence.ID{5, 6}, []int64{1, 2}, nil},
		{"hex", Format{Encoding: must(snowfence.ParseEncoding("hex"))}, "ff\nFF\n0x1\n0x\n", []snowfence.ID{255, 255, 1}, []int64{1, 2, 3}, []int64{4}},
		{"base32hex", Format{Encoding: must(snowfence.ParseEncoding("base32hex"))}, "v\n10\n", []snowfence.ID{31, 32}, []int64{1, 2}, nil},
		{"column by name", Format{Column: "id"}, "name,id,age\na,1,2\nb,3,4\n\nc\nd, 5 ,6", []snowfence.ID{1, 3, 5}, []int64{2, 3, 6}, []int64{5}},
		{"column by number", Format{Column: "2"}, "a,1\nb,2\n", []snowfence.ID{1, 2}, []int64{1, 2}, nil},
		{"column by number with heading", Format{Column: "2"}, "a,id\nb,2\n", []snowfence.ID{2}, []int64{2}, nil},
		{"tabs", Format{Column: "id"}, "x\tid\n\t1\n\t2\n", []snowfence.ID{1, 2}, []int64{2, 3}, nil},
		{"semicolons", Format{Column: "id"}, "x;id\r\na,b;1\r\n;2", []snowfence.ID{1, 2}, []int64{2, 3}, nil},
		{"quotes", Format{Column: "id"}, "\"text\",\"id\"\na,1\n\"b\nc\",2\n\"d \"\"e\"\"\",3\n\"f\"g,4\nh,\"5\"\n", []snowfence.ID{1, 2, 3, 5}, []int64{2, 4, 5, 7}, []int64{6}},
		{"only a heading", Format{Column: "id"}, "id\n", nil, nil, nil},
		{"field", Format{Field: "id"}, `{"id":"1"}` + "\n" + ` { "a" : {"id":7,"b":["}"]}, "id" : 2 } ` + "\n\n" + `{"a":"\"id\":3","i\u0064":"\u0034"}` + "\n" + `{"id":5,"id":6}`, []snowfence.ID{1, 2, 4, 6}, []int64{1, 2, 4, 5}, nil},
		{"bad fields", Format{Field: "id"}, "{\n[1]\n{}\n{\"id\":null}\n{\"id\":1.5}\n{\"id\":[1]}\n\"id\"\n{\"id\":\"x\"}\n7\n", nil, nil, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"numbers stay decimal", Format{Field: "id", Encoding: must(snowfence.ParseEncoding("hex"))}, "{\"id\":10}\n{\"id\":\"10\"}", []snowfence.ID{10, 16}, []int64{1, 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(c.text),
				iotest.OneByteReader(strings.NewReader(c.text)),
				iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				got := must(read(r, c.f))
				if !slices.Equal(got.ids, c.ids) || !slices.Equal(got.lines, c.lines) || !slices.Equal(got.bad, c.bad) {
					t.Errorf("got  %v on lines %v, bad %v\nwant %v on lines %v, bad %v",
						got.ids, got.lines, got.bad, c.ids, c.lines, c.bad)
				}
			}
		})
	}
}

func TestReadFails(t *testing.T) {
	for _, c := range []struct {
		f    Format
		text string
		want string
	}{
		{Format{Column: "id"}, "a,b\n1,2\n", `no column "id"`},
		{Format{Column: "id"}, "id, a,id \n1,2,3\n", `columns 1 and 3 are both "id"`},
		{Format{Column: "0"}, "1,2\n", "the first one is 1"},
		{Format{Column: "id"}, "\"id\n", "the first line"},
		{Format{Column: "id"}, "id,a\n1,\"" + strings.Repeat("x\n", maxLine/2+blockSize), "is a quote not closed?"},
	} {
		if _, err := read(strings.NewReader(c.text), c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %s", c.f, err, c.want)
		}
	}
	broken := errors.New("broken")
	for _, f := range []Format{{}, {Column: "1"}, {Field: "a"}} {
		wantErr(t, errOf(read(iotest.ErrReader(broken), f)), broken, "%+v", f)
	}
	// A line that a failure cut off is no ID.
	got, err := read(io.MultiReader(strings.NewReader("12\n34"), iotest.ErrReader(broken)), Format{})
	if !errors.Is(err, broken) || !slices.Equal(got.ids, []snowfence.ID{12}) {
		t.Errorf("got %v, %v", got.ids, err)
	}
	stop := errors.New("stop")
	wantErr(t, Read(strings.NewReader("1\n"), Format{}, func(*Batch) error { return stop }), stop,
		"the error of yield became")
}

// Lines that are far too long are bad lines, and their neighbours are read.
func TestReadLongLines(t *testing.T) {
	long := strings.Repeat("9", 3*maxLine)
	for _, c := range []struct {
		f    Format
		text string
		ids  []snowfence.ID
		bad  []int64
	}{
		{Format{}, "1\n" + long + "\n2\n", []snowfence.ID{1, 2}, []int64{2}},
		{Format{}, long + "\n2\n" + long, []snowfence.ID{2}, []int64{1, 3}},
		{Format{}, "1\n" + long[:2*blockSize] + "\n2\n", []snowfence.ID{1, 2}, []int64{2}},
	} {
		got, err := read(strings.NewReader(c.text), c.f)
		if err != nil || !slices.Equal(got.ids, c.ids) || !slices.Equal(got.bad, c.bad) {
			t.Errorf("got %v, bad %v, %v; want %v, bad %v", got.ids, got.bad, err, c.ids, c.bad)
		}
	}
}

// Many blocks, with bad and empty lines between: each ID on its line, in
// its order.
func TestReadManyBlocks(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		r := rand.New(rand.NewPCG(t.Word(), 2))
		format := draw.One(t, []string{"dec", "hex", "csv", "quoted", "json"})
		n := t.Int(0, 150_000)
		quotedFrom := r.IntN(n + 1)
		var want reading
		var text bytes.Buffer
		f := Format{}
		line := int64(0)
		switch format {
		case "hex":
			f.Encoding = snowfence.Hex
		case "csv", "quoted":
			f.Column = "id"
			text.WriteString("name,id\n")
			line++
		case "json":
			f.Field = "id"
		}
		for i := range n {
			line++
			id := snowfence.ID(r.Uint64() >> r.IntN(64))
			switch r.IntN(1000) {
			case 0:
				text.WriteString("\n")
				continue
			case 1:
				text.WriteString("bad!\n")
				want.badN++
				continue
			}
			switch {
			case format == "csv":
				fmt.Fprintf(&text, "x,%d\n", id)
			case format == "quoted" && i >= quotedFrom:
				fmt.Fprintf(&text, "\"x\ny\",%d\n", id)
				line++
			case format == "quoted":
				fmt.Fprintf(&text, "x,%d\n", id)
			case format == "json":
				fmt.Fprintf(&text, "{\"id\":%d}\n", int64(id))
			default:
				text.WriteString(f.Encoding.Encode(id) + "\n")
			}
			want.ids, want.lines = append(want.ids, id), append(want.lines, line)
		}
		got := must(read(&text, f))
		if !slices.Equal(got.ids, want.ids) || !slices.Equal(got.lines, want.lines) || got.badN != want.badN {
			t.Fatalf("%d IDs, %d bad; want %d, %d", len(got.ids), got.badN, len(want.ids), want.badN)
		}
	})
}
