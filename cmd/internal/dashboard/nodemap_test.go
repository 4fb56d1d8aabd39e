package dashboard

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// apply writes runs into cells, as the page does.
func apply(t testing.TB, cells, runs []byte) {
	t.Helper()
	at := uint64(0)
	for len(runs) > 0 {
		skip, n := binary.Uvarint(runs)
		run, m := binary.Uvarint(runs[max(n, 0):])
		if n <= 0 || m <= 0 || at+skip+run>>3 > uint64(len(cells)) {
			t.Fatal("the runs are damaged")
		}
		runs = runs[n+m:]
		at += skip
		for range run >> 3 {
			cells[at] = byte(run & 7)
			at++
		}
	}
}

func TestRunsMakeTheMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		before, after := make([]byte, 1+r.IntN(400)), []byte(nil)
		for i := range before {
			before[i] = byte(r.IntN(cellKinds))
		}
		after = slices.Clone(before)
		for range r.IntN(40) {
			at, kind := r.IntN(len(after)), byte(r.IntN(cellKinds))
			for i := at; i < min(at+r.IntN(30), len(after)); i++ {
				after[i] = kind
			}
		}
		got := slices.Clone(before)
		apply(t, got, encodeRuns(after, before))
		if !slices.Equal(got, after) {
			t.Fatal("a change makes another map")
		}
		full := make([]byte, len(after))
		apply(t, full, encodeRuns(after, nil))
		if !slices.Equal(full, after) {
			t.Fatal("the whole makes another map")
		}
	}
	if len(encodeRuns([]byte{1, 2}, []byte{1, 2})) != 0 {
		t.Error("no change takes bytes")
	}
}

// lookAt makes a look at records.
func lookAt(t testing.TB, layout string, at time.Time, rs ...store.Record) *nodeMap {
	t.Helper()
	return lookInUnits(t, layout, 1, at, rs...)
}

func lookInUnits(t testing.TB, layout string, unit int64, at time.Time, rs ...store.Record) *nodeMap {
	t.Helper()
	l := must(snowfence.ParseLayout(layout))
	nodes := int64(1) << l.Bits(snowfence.FieldNode)
	terms := scope.Terms{Layout: l, Nodes: snowfence.NodeRange{Until: nodes}, Unit: unit}
	v := &server.View{
		Namespace: scope.Namespace{Terms: terms}, Layout: l, From: at, At: at.Add(100 * time.Millisecond),
	}
	for _, r := range rs {
		v.Leases = append(v.Leases, server.Lease{Record: r, Held: r.Held(l.TickOf(at))})
	}
	return newNodeMap(v)
}

// record is a lease that was written at a time of the holder's clock.
func record(layout snowfence.Layout, node int64, written time.Time, ttl time.Duration, label string) store.Record {
	return store.Record{
		Key: store.Key{Namespace: "a", Node: node}, Nonce: "n", Holder: "h", Label: label, At: written.UnixMilli(),
		Until: layout.TickOf(written.Add(ttl)),
	}
}

func TestCellsSayWhatNodesAre(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l := snowfence.MustLayout("twitter")
	late := record(l, 2, now.Add(-10*time.Second), 15*time.Second, "late")
	over := record(l, 3, now.Add(-20*time.Second), 15*time.Second, "over")
	vetoed := record(l, 4, now, 15*time.Second, "v")
	vetoed.Veto = "broken"
	ahead := record(l, 5, now, 15*time.Second, "gone")
	ahead.Holder = ""
	look := lookAt(t, "twitter", now, record(l, 1, now.Add(-time.Second), 15*time.Second, "held"), late, over,
		vetoed, ahead, record(l, 6, now, 15*time.Second, "me"), over1(over, 9))
	look.ownUnits, look.Namespace.Nodes = map[int64]bool{6: true, 7: true}, snowfence.NodeRange{From: 1, Until: 8}
	look.paintCells()
	want := []byte{
		cellReserved, cellHeld, cellLate, cellFree, cellVetoed, cellAhead, cellOwn, cellNever,
		cellReserved, cellReserved,
	}
	if !slices.Equal(look.cells[:10], want) {
		t.Errorf("%v, want %v", look.cells[:10], want)
	}
	sum := int64(0)
	for _, n := range look.counts {
		sum += n
	}
	if sum != look.nodes {
		t.Errorf("%v are %d nodes of %d", look.counts, sum, look.nodes)
	}
}

// A unit has all its squares, and is found by each of its nodes.
func TestUnitsFillTheirSquares(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l := snowfence.MustLayout("twitter")
	look := lookInUnits(t, "twitter", 4, now, record(l, 8, now, 15*time.Second, "a"),
		record(l, 12, now, 15*time.Second, "b"))
	look.ownUnits = map[int64]bool{12: true}
	look.paintCells()
	want := []byte{cellNever, cellHeld, cellHeld, cellHeld, cellHeld, cellOwn, cellOwn, cellOwn, cellOwn, cellNever}
	if !slices.Equal(look.cells[7:17], want) || look.counts[cellHeld] != 4 || look.counts[cellOwn] != 4 ||
		look.counts[cellNever] != 1016 {
		t.Errorf("%v, want %v; %v", look.cells[7:17], want, look.counts)
	}
	for _, list := range [][]block{look.selectBlocks(11, "", false), look.selectBlocks(-1, "11", true)} {
		if len(list) != 1 || list[0].Node != 8 || list[0].nodes() != 4 {
			t.Errorf("%+v", list)
		}
	}
}

func over1(r store.Record, node int64) store.Record {
	r.Node = node
	return r
}

// Layouts with more nodes than squares share them, and what people look for
// shows.
func TestManyNodesShareSquares(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l := must(snowfence.ParseLayout("time=31,node=30,seq=2,tick=1s"))
	look := lookAt(t, l.String(), now, record(l, 1<<29, now, time.Minute, "x"))
	look.paintCells()
	if len(look.cells) != maxCells || look.per != 1<<13 || look.cells[1<<16] != cellHeld {
		t.Errorf("%d cells of %d nodes", len(look.cells), look.per)
	}
}

// 131,072 nodes in any state fit into a message that a page takes at once,
// and a change of one of them takes some bytes.
func TestMapOfAllNodesIsSmall(t *testing.T) {
	cells := make([]byte, maxCells)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range cells {
		cells[i] = byte(r.IntN(cellKinds))
	}
	if n := len(encodeRuns(cells, nil)); n > 2*maxCells {
		t.Errorf("%d bytes at worst", n)
	}
	changed := slices.Clone(cells)
	changed[99999] = (changed[99999] + 1) % cellKinds
	if n := len(encodeRuns(changed, cells)); n > 8 {
		t.Errorf("a change takes %d bytes", n)
	}
	for i := range cells {
		cells[i] = cellHeld
	}
	if n := len(encodeRuns(cells, nil)); n > 8 {
		t.Errorf("a full namespace takes %d bytes", n)
	}
}
