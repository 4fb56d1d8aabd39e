package audit

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
)

// TestWideOracle compares an audit in tiny memory with maps.
func TestWideOracle(t *testing.T) {
	dir := t.TempDir()
	draw.Check(t, func(t *draw.T) {
		o := WideOptions{TempDir: dir, Limit: t.IntN(6), Time: Wide{0, ^uint64(0), 0}}
		chunk := 1 + t.IntN(9)
		a := newWide(o, chunk, chunk*(1+t.IntN(4)))
		var ids []Wide
		for range draw.One(t, []int{0, 1, 2, 10, 100, 300}) {
			ids = append(ids, Wide{t.Uint64N(2), t.Uint64N(10), t.Uint64N(6)})
		}
		if t.IntN(2) == 0 {
			slices.SortFunc(ids, Wide.Compare)
		}
		want := WideResult{Count: int64(len(ids))}
		places := map[Wide][]int64{}
		for i, id := range ids {
			places[id] = append(places[id], int64(i))
			if i > 0 && id.Compare(ids[i-1]) < 0 {
				want.Order.Violations++
				if id[1] < ids[i-1][1] {
					want.Order.InTime++
				}
				if len(want.Order.List) < o.Limit {
					want.Order.List = append(want.Order.List, WideStep{int64(i), ids[i-1], id})
				}
			}
		}
		sorted := slices.SortedFunc(slices.Values(ids), Wide.Compare)
		if len(sorted) > 0 {
			want.Lowest, want.Highest = sorted[0], sorted[len(sorted)-1]
		}
		for _, id := range slices.Compact(sorted) {
			want.Distinct++
			if n := int64(len(places[id])); n > 1 {
				want.Duplicates.IDs++
				want.Duplicates.Extra += n - 1
				if len(want.Duplicates.List) < o.Limit {
					want.Duplicates.List = append(want.Duplicates.List,
						WideDuplicate{id, n, places[id][:min(n, maxPositions)]})
				}
			}
		}
		for part := range slices.Chunk(ids, 7) {
			if err := a.Add(part...); err != nil {
				t.Fatal(err)
			}
		}
		got, err := a.Result(context.Background())
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d temporary files are left, %v", len(left), err)
	}
}

// More IDs than the memory holds, and enough to test their evenness.
func TestWideBeyondMemory(t *testing.T) {
	const memory = 1 << 14
	a := newWide(WideOptions{TempDir: t.TempDir(), Limit: 3, Random: Wide{0, ^uint64(0), ^uint64(0)}}, memory/4, memory)
	defer a.Close()
	const n = 6*memory + 100
	r := rand.New(rand.NewPCG(1, 2))
	var first Wide
	for i := range n {
		id := Wide{0, r.Uint64(), r.Uint64()}
		if i == 0 {
			first = id
		}
		if err := a.Add(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Add(first); err != nil {
		t.Fatal(err)
	}
	if len(a.sorter.stored) == 0 {
		t.Error("nothing was written to the file")
	}
	got, err := a.Result(t.Context())
	if err != nil || got.Count != n+1 || got.Distinct != n || len(got.Duplicates.List) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if d := got.Duplicates.List[0]; d.ID != first || !slices.Equal(d.Positions, []int64{0, n}) {
		t.Errorf("%+v", d)
	}
	if len(got.Even) != 2 || !got.Even[0].Even(1e-6) || !got.Even[1].Even(1e-6) || !got.Even[0].Tested() {
		t.Errorf("random numbers are not even: %+v", got.Even)
	}
	if _, err := a.Result(t.Context()); !errors.Is(err, errDone) || !errors.Is(a.Add(first), errDone) {
		t.Error("an audit that has ended goes on")
	}
}

// The random bits are packed in their order, and each is counted once.
func TestWideEvenPacks(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		var mask, id Wide
		for i := range mask {
			mask[i] = draw.One(t, []uint64{0, 1, 1 << 63, ^uint64(0), 0xff00ff0000ff00ff, 1<<62 - 1, 0xf0})
			id[i] = t.Uint64()
		}
		var want []bool
		for i := range mask {
			for b := 63; b >= 0; b-- {
				if mask[i]>>b&1 == 1 {
					want = append(want, id[i]>>b&1 == 1)
				}
			}
		}
		e := newWideEven(mask)
		e.add([]Wide{id})
		var got []bool
		for i, g := range e.groups {
			if g.width != 64 && i < len(e.groups)-1 {
				t.Fatalf("group %d has %d bits", i, g.width)
			}
			for b := g.width - 1; b >= 0; b-- {
				got = append(got, g.words[0]>>b&1 == 1)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("mask %x, ID %x: got %v, want %v", mask, id, got, want)
		}
	})
}

func TestReadWide(t *testing.T) {
	parse := func(text []byte) (Wide, error) {
		if len(text) != 2 {
			return Wide{}, errors.New("not two characters")
		}
		return Wide{0, uint64(text[0]), uint64(text[1])}, nil
	}
	for _, c := range []struct {
		f    Format
		text string
	}{
		{Format{ParseWide: parse}, "ab\nx\n\ncd\r\n"},
		{Format{ParseWide: parse, Column: "id"}, "number,id\n1,ab\n2,x\n\n3,cd\n"},
		{Format{ParseWide: parse, Column: "2"}, "number;the id;x\n1;ab;\n2;x;\n\n3;\"cd\";\n"},
		{Format{ParseWide: parse, Field: "id"}, `{"id":"ab"}` + "\n" + `{"id":17}` + "\n\n" + `{"id":"c\u0064"}`},
	} {
		var got []Wide
		n, bad := 0, int64(0)
		err := Read(strings.NewReader(c.text), c.f, func(b *Batch) error {
			got, n, bad = append(got, b.Wide...), n+len(b.IDs), bad+b.BadN
			return nil
		})
		if c.f.Field == "" && err == nil && bad == 0 {
			t.Errorf("%q: no bad line", c.text)
		}
		want := []Wide{{0, 'a', 'b'}, {0, 'c', 'd'}}
		if c.f.Field != "" {
			want = []Wide{{0, 'a', 'b'}, {0, '1', '7'}, {0, 'c', 'd'}}
		}
		if err != nil || !slices.Equal(got, want) || n != len(want) {
			t.Errorf("%q: %v, %d, %v", c.text, got, n, err)
		}
	}
	if (Format{ParseWide: parse, Raw: true}).Validate() == nil {
		t.Error("raw wide IDs")
	}
}
