package snowflake_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/snowflake"
	"github.com/snowfence/snowfence/internal/tests"
)

// set sets the variables until the test ends.
func set(t testing.TB, epoch int64, node, step uint8) {
	e, n, s := snowflake.Epoch, snowflake.NodeBits, snowflake.StepBits
	snowflake.Epoch, snowflake.NodeBits, snowflake.StepBits = epoch, node, step
	t.Cleanup(func() { snowflake.Epoch, snowflake.NodeBits, snowflake.StepBits = e, n, s })
}

func node(t testing.TB, number int64) *snowflake.Node {
	t.Helper()
	n := tests.Must(snowflake.NewNode(number))
	t.Cleanup(func() { n.Close() }) // the next test has other widths
	return n
}

// ID.Node and ID.Step use the widths of the latest NewNode, even if it
// refused its number. ID.Time uses the present Epoch.
func TestFieldsAreOfTheLatestNewNode(t *testing.T) {
	const id = snowflake.ID(3<<22 | 5<<12 | 9)
	node(t, 1)
	set(t, 1420070400000, 4, 8)
	if id.Node() != 5 || id.Step() != 9 || id.Time() != 3+1420070400000 {
		t.Errorf("before NewNode: node %d, step %d, time %d", id.Node(), id.Step(), id.Time())
	}
	tests.Fails(t, tests.ErrOf(snowflake.NewNode(99)), "node 99 of 16")
	if id.Node() != int64(id)>>8&15 || id.Step() != int64(id)&255 || id.Time() != int64(id)>>12+1420070400000 {
		t.Errorf("after it: node %d, step %d, time %d", id.Node(), id.Step(), id.Time())
	}
	set(t, 1420070400000, 14, 14)
	tests.Says(t, tests.ErrOf(snowflake.NewNode(1)), "22 bits", "28 bits")
	if id.Step() != int64(id)&255 {
		t.Error("settings that were refused are in use")
	}
	set(t, 1288834974657, 10, 12)
	node(t, 1)
}

// Each variable alone makes other settings.
func TestVariablesAreReadEachTime(t *testing.T) {
	for _, c := range []struct {
		epoch      int64
		node, step uint8
		want       string
	}{
		{1288834974657, 10, 12, "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"},
		{1420070400000, 10, 12, "time=41,node=10,seq=12,epoch=2015-01-01T00:00:00Z,tick=1ms"},
		{1420070400000, 9, 12, "time=42,node=9,seq=12,epoch=2015-01-01T00:00:00Z,tick=1ms"},
		{1420070400000, 9, 11, "time=43,node=9,seq=11,epoch=2015-01-01T00:00:00Z,tick=1ms"},
		{1420070400000, 0, 11, "time=52,seq=11,epoch=2015-01-01T00:00:00Z,tick=1ms"},
		{1420070400000, 9, 0, "time=54,node=9,epoch=2015-01-01T00:00:00Z,tick=1ms"},
		{1420070400000, 0, 0, "time=62,epoch=2015-01-01T00:00:00Z,tick=1ms"},
	} {
		set(t, c.epoch, c.node, c.step)
		node(t, 0) // they are the latest now
		s, err := snowflake.Scheme()
		if err != nil || s.Layout().String() != c.want {
			t.Errorf("%+v: %v, %v", c, s.Layout(), err)
		}
	}
	set(t, 1288834974657, 10, 12)
	node(t, 0)
}

// Every text of a negative ID is read back. The original panics.
func TestNegativeIDs(t *testing.T) {
	for _, id := range []snowflake.ID{-1, -2, math.MinInt64, math.MinInt64 + 1} {
		a, err1 := snowflake.ParseBase32([]byte(id.Base32()))
		b, err2 := snowflake.ParseBase58([]byte(id.Base58()))
		c, err3 := snowflake.ParseBase36(id.Base36())
		if err := errors.Join(err1, err2, err3); err != nil || a != id || b != id || c != id {
			t.Errorf("%d: %d, %d, %d: %v", id, a, b, c, err)
		}
	}
}

func TestSQL(t *testing.T) {
	v, err := snowflake.ID(42).Value()
	if err != nil || v != int64(42) {
		t.Errorf("Value: %v, %v", v, err)
	}
	for _, src := range []any{int64(42), "42", []byte("42"), uint64(42)} {
		var id snowflake.ID
		if err := id.Scan(src); err != nil || id != 42 {
			t.Errorf("%T: %d, %v", src, id, err)
		}
	}
	for _, src := range []any{nil, 4.2, "x", true} {
		tests.Fails(t, new(snowflake.ID).Scan(src), "%v was read", src)
	}
	var null sql.Null[snowflake.ID]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("NULL: %v, %v", null, err)
	}
}

func TestGenerateN(t *testing.T) {
	n := node(t, 3)
	var all []snowflake.ID
	for _, count := range []int{1, 0, 5000, 10_000} {
		ids := n.GenerateN(count)
		more, err := n.GenerateNContext(t.Context(), count)
		if err != nil || len(ids) != count || len(more) != count {
			t.Fatalf("%d and %d IDs of %d: %v", len(ids), len(more), count, err)
		}
		all = append(append(all, ids...), more...)
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("they do not increase")
	}
	for _, id := range all {
		if id.Node() != 3 {
			t.Fatalf("node %d", id.Node())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ids, err := n.GenerateNContext(ctx, 100_000) // more than two ticks have
	if err == nil || !errors.Is(err, context.Canceled) || len(ids) > 50_000 {
		t.Errorf("%d IDs: %v", len(ids), err)
	}
}

func TestClose(t *testing.T) {
	a, b := node(t, 4), node(t, 4)
	tests.NoError(t, errors.Join(a.Close(), a.Close()))
	tests.WantErr(t, tests.ErrOf(a.GenerateContext(t.Context())), snowfence.ErrClosed, "after Close")
	for name, call := range map[string]func(){
		"Generate":  func() { a.Generate() },
		"GenerateN": func() { a.GenerateN(2) },
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, snowfence.ErrClosed) {
					t.Errorf("%s after Close panicked with %v", name, err)
				}
			}()
			call()
		}()
	}
	b.Generate()
}

func TestNodeOnRefusesOtherLayouts(t *testing.T) {
	const bits = "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z"
	for spec, ok := range map[string]bool{
		"bwmarrin": true,
		"twitter":  true, // the node has two parts
		"time=40,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z": true,
		bits + ",first=5":    true,
		bits + ",tick=2ms":   false,
		bits + ",cipher=ff1": false,
		"time=42,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z":            false, // it has negative IDs
		"time=41,node=11,seq=11,epoch=2010-11-04T01:42:54.657Z":            false,
		"time=41,seq=12,node=10,epoch=2010-11-04T01:42:54.657Z":            false,
		"time=41,zone=5,seq=12,rack=5,epoch=2010-11-04T01:42:54.657Z":      false,
		"time=40,node=10,rollback=1,seq=12,epoch=2010-11-04T01:42:54.657Z": false,
		"time=41,node=10,seq=11,epoch=2010-11-04T01:42:54.657Z":            false,
		"time=41,node=9,seq=12,epoch=2010-11-04T01:42:54.657Z":             false,
		"snowfence": false, // another epoch
		"sonyflake": false,
	} {
		l := tests.Must(snowfence.ParseLayout(spec))
		var keys []*snowfence.Secret
		if l.Cipher != snowfence.Plain {
			keys = append(keys, snowfence.GenerateSecret())
		}
		s := tests.Must(snowfence.NewScheme(l, keys...))
		n, err := snowflake.NewNodeOn(snowfence.Unguarded(s, 9))
		if (err == nil) != ok {
			t.Errorf("%s: %v", spec, err)
		}
		if err == nil {
			if id := n.Generate(); id.Node() != 9 {
				t.Errorf("%s: node %d", spec, id.Node())
			}
			_ = n.Close()
		} else if !strings.Contains(err.Error(), "time=41,node=10,seq=12") {
			t.Errorf("%s: the error does not name the layout that is needed: %v", spec, err)
		}
	}
	tests.Fails(t, tests.ErrOf(snowflake.NewNodeOn(nil)), "no fence")
}

// A million nodes that are not closed leave no memory behind.
func TestManyNodesAreBounded(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		n := tests.Must(snowflake.NewNode(int64(i % 1024)))
		if i%1000 == 0 {
			n.Generate()
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		if grown < 4<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d nodes left %d bytes", n, grown)
		}
	}
	set(t, snowflake.Epoch, 11, 11)
	deadline := time.Now().Add(time.Minute)
	for i := int64(0); i < 2048; { // none of them is in the way
		n, err := snowflake.NewNode(i)
		if err == nil {
			_ = n.Close() // it has nothing to give back
			i++
			continue
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		runtime.GC() // the last ones go a moment after their memory
	}
	set(t, snowflake.Epoch, 10, 12)
	node(t, 1)
}
