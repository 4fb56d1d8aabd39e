package snowfence_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

var write = flag.Bool("write", false, "write testdata/specification/fields.json again")

// fieldVectors is the file fields.json, of layouts with a scatter field, a
// tag, or parts of the node above the time.
type fieldVectors struct {
	Valid   []fieldLayout `json:"valid"`
	Invalid []string      `json:"invalid"`
	IDs     []fieldID     `json:"ids"`
	Tags    []fieldTag    `json:"tags"`
	Ranges  []fieldRanges `json:"ranges"`
	Grants  []scene       `json:"grants"`
}

type fieldLayout struct {
	Spec      string           `json:"spec"`
	Canonical string           `json:"canonical"`
	EpochNs   string           `json:"epoch_unix_ns"`
	TickNs    string           `json:"tick_ns"`
	Fields    [][2]any         `json:"fields"`
	First     string           `json:"first"`
	Last      string           `json:"last"`
	Cipher    snowfence.Cipher `json:"cipher"`
}

type fieldID struct {
	Layout   string            `json:"layout"`
	Secrets  []string          `json:"secrets,omitempty"`
	Tick     string            `json:"tick"`
	UnixNs   string            `json:"unix_ns"`
	Node     string            `json:"node"`
	Parts    map[string]string `json:"parts"`
	Sequence string            `json:"sequence"`
	Rollback string            `json:"rollback"`
	Scatter  string            `json:"scatter"`
	Tag      string            `json:"tag"`
	Key      int               `json:"key"`
	ID       string            `json:"id"`
	Text     string            `json:"base32hex"`
}

type fieldTag struct {
	Layout  string   `json:"layout"`
	Secrets []string `json:"secrets,omitempty"`
	ID      string   `json:"id"`
	Tag     string   `json:"tag"`
	Tagged  string   `json:"tagged,omitempty"` // none if the tag does not fit
}

type fieldRanges struct {
	Layout string            `json:"layout"`
	From   string            `json:"from_unix_ns"`
	To     string            `json:"to_unix_ns"`
	Within map[string]string `json:"within,omitempty"`
	Ranges [][2]string       `json:"ranges"`
}

// The file has what the code makes of the lists below. The readers in other
// languages show that it is right.
func TestSpecificationOfFields(t *testing.T) {
	const secret = "dffd6021bb2bd5b0af676290809ec3a5"
	var v fieldVectors
	for _, spec := range []string{
		"scatter=5,time=41,node=10,seq=7", "time=41,tag=10,node=6,seq=6", "tag=10,time=41,node=6,seq=6",
		"time=41,node=6,seq=6,tag=10", "node=10,time=41,seq=12", "rack=4,time=41,node=6,seq=12",
		"region=2,scatter=3,tag=4,time=40,rack=3,seq=9,rollback=2", "scatter=12,time=1,seq=41", "tag=63,time=1",
		"scatter=2,seq=6,time=41,tag=8,node=4,order=node-last", "tag=8,time=40,seq=6,node=4,order=node-first",
		"key=2,tag=5,time=40,node=6,seq=10,cipher=ff1", "scatter=1,time=3,seq=2,node=2,first=1,last=2",
	} {
		l, err := snowfence.ParseLayout(spec)
		if err != nil {
			v.Invalid = append(v.Invalid, spec)
			continue
		}
		c := fieldLayout{
			Spec: spec, Canonical: l.String(), EpochNs: unixNs(l.Epoch), TickNs: fmt.Sprint(int64(l.Tick)),
			First: fmt.Sprint(l.First), Last: fmt.Sprint(l.Last), Cipher: l.Cipher,
		}
		for _, f := range l.Fields {
			c.Fields = append(c.Fields, [2]any{f.Name, f.Bits})
		}
		v.Valid = append(v.Valid, c)
		if l.Cipher == snowfence.FF1 {
			v.addIDs(t, l, []string{"", secret})
		} else {
			v.addIDs(t, l, nil)
		}
	}
	v.addIDs(t, snowfence.MustLayout("time=30,tag=7,node=10,seq=17,tick=1s,cipher=sparx"), []string{secret})
	v.Invalid = append(v.Invalid,
		"time=41,scatter=5,seq=7", "scatter=13,time=41,seq=7", "scatter=10,time=10,seq=44", "tag=64,time=1",
		"scatter=4,time=41,seq=10,cipher=sparx", "scatter=4,time=41,seq=10,cipher=ff1", "seq=7,time=41",
		"tag=3,key=2,time=41,seq=9,cipher=ff1", "rollback=2,time=41", "scatter=3,scatter=3,time=41", "tag=10",
	)
	v.addRanges(t)
	v.addScenes(t)
	text, err := json.MarshalIndent(v, "", " ")
	noError(t, err)
	text = append(text, '\n')
	const name = "testdata/specification/fields.json"
	if *write {
		err = os.WriteFile(name, text, 0o644)
	}
	if have, readErr := os.ReadFile(name); err != nil || !bytes.Equal(have, text) {
		t.Errorf("%s is not what the code makes: go test -run %s -write . (%v, %v)", name, t.Name(), err, readErr)
	}
	for _, spec := range v.Invalid {
		fails(t, errOf(snowfence.ParseLayout(spec)), "%q is the layout", spec)
	}
}

func unixNs(t time.Time) string { return fmt.Sprintf("%d%09d", t.Unix(), t.Nanosecond()) }

// addIDs adds the lowest, the highest and an ordinary ID of a layout, and
// gives the last one other tags.
func (v *fieldVectors) addIDs(t *testing.T, l snowfence.Layout, secrets []string) {
	t.Helper()
	s := scheme(t, l.String(), secrets)
	for _, all := range []uint64{0, 1<<63 - 1, 0x5b3a_91d7_42c6_8e0f} {
		value := func(field string) int64 { return int64(all % (1 << l.Bits(field))) }
		p := snowfence.Parts{
			Tick: value("time"), Node: value("node"), Sequence: value("sequence"),
			Rollback: value("rollback"), Scatter: value("scatter"), Tag: value("tag"),
		}
		id, err := s.Compose(p)
		if err != nil {
			t.Fatal(l, err)
		}
		back, err := s.Decode(id)
		p.Time, p.Key = back.Time, back.Key
		same(t, l.String(), []any{back, err}, []any{p, nil})
		c := fieldID{
			Layout: l.String(), Secrets: secrets, Tick: fmt.Sprint(p.Tick), UnixNs: unixNs(p.Time),
			Node: fmt.Sprint(p.Node), Sequence: fmt.Sprint(p.Sequence), Rollback: fmt.Sprint(p.Rollback),
			Scatter: fmt.Sprint(p.Scatter), Tag: fmt.Sprint(p.Tag), Key: p.Key, ID: id.String(),
			Text: snowfence.Base32Hex.Encode(id), Parts: map[string]string{},
		}
		values := s.NodeParts(p.Node)
		for i, f := range l.NodeParts() {
			c.Parts[f.Name] = fmt.Sprint(values[i])
		}
		if p.Time.Year() < 9999 { // later ones cannot be written
			v.IDs = append(v.IDs, c)
		}
		bits := l.Bits("tag")
		if bits == 0 || all < 1<<63-1 {
			continue
		}
		for _, tag := range []int64{0, 5, 1<<bits - 1, 1 << min(bits, 62), -1} {
			c := fieldTag{Layout: l.String(), Secrets: secrets, ID: id.String(), Tag: strconv.FormatInt(tag, 10)}
			if tagged, err := s.Tag(id, tag); err == nil {
				c.Tagged = tagged.String()
			}
			v.Tags = append(v.Tags, c)
		}
	}
}

func (v *fieldVectors) addRanges(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		spec   string
		within map[string]int64
	}{
		{"scatter=2,time=8,node=2,seq=4", nil},
		{"tag=10,time=41,node=6,seq=6", map[string]int64{"tag": 7}},
		{"node=2,tag=3,time=8,rack=2,seq=4", map[string]int64{"node": 2}},
		{"rack=1,time=8,node=2,seq=4,tick=1s", nil},
		{"tag=1,time=60,seq=3", nil},
		{"scatter=1,time=3,node=60", nil}, // the highest number is no end of a range
	} {
		s := scheme(t, c.spec+",epoch=2026-05-04", nil)
		l := s.Layout()
		for _, span := range [][2]time.Duration{
			{l.Tick, 3 * l.Tick},
			{l.Tick + 1, 2*l.Tick + 1},
			{l.Tick + 1, 2 * l.Tick},
			{-time.Hour, 1 << 62}, // all of a short life
		} {
			from, to := l.Epoch.Add(span[0]), l.Epoch.Add(span[1])
			ranges, err := s.Ranges(from, to, c.within)
			if err != nil {
				t.Fatal(c.spec, err)
			}
			r := fieldRanges{Layout: l.String(), From: unixNs(from), To: unixNs(to), Ranges: [][2]string{}}
			for name, n := range c.within {
				r.Within = map[string]string{name: fmt.Sprint(n)}
			}
			for lo, hi := range ranges {
				r.Ranges = append(r.Ranges, [2]string{lo.String(), hi.String()})
			}
			v.Ranges = append(v.Ranges, r)
		}
	}
}

func (v *fieldVectors) addScenes(t *testing.T) {
	t.Helper()
	grant := func(node, from, until int) sceneStep {
		return sceneStep{Node: fmt.Sprint(node), From: fmt.Sprint(from), Until: fmt.Sprint(until)}
	}
	calls := func(n, now int, tag string) (steps []sceneStep) {
		for range n {
			steps = append(steps, sceneStep{Now: fmt.Sprint(now), Tag: tag})
		}
		return steps
	}
	for _, c := range []struct {
		name, spec string
		lead       int64
		steps      [][]sceneStep
	}{
		{
			"a tick has all values, each with all its numbers", "scatter=2,time=20,node=4,seq=1", 0,
			[][]sceneStep{{grant(3, 100, 200)}, calls(9, 100, ""), calls(9, 101, ""), calls(3, 150, "")},
		},
		{
			"with first, last and the lead", "scatter=1,time=20,seq=3,node=4,first=5,last=6", 1,
			[][]sceneStep{{grant(9, 100, 102)}, calls(10, 100, ""), calls(1, 101, "")},
		},
		{
			"one number for each value", "scatter=3,time=20,node=4", 0,
			[][]sceneStep{{grant(0, 0, 9)}, calls(9, 0, ""), calls(2, 8, "")},
		},
		{
			"a renewal whose first tick rose changes no value of a tick", "scatter=3,time=20,node=4,seq=2", 0,
			[][]sceneStep{
				{grant(3, 100, 200)},
				calls(3, 150, ""),
				{grant(3, 160, 300)},
				calls(2, 155, ""), calls(3, 170, ""),
			},
		},
		{
			"a tag with each call", "time=20,tag=4,node=4,seq=1", 0,
			[][]sceneStep{{grant(3, 100, 200)}, calls(1, 100, "15"), calls(1, 100, ""), calls(2, 101, "2")},
		},
		{
			"a tag and a scatter field", "tag=2,scatter=1,time=20,node=4,seq=1", 0,
			[][]sceneStep{{grant(3, 100, 200)}, calls(2, 100, "1"), calls(3, 100, "3"), calls(1, 101, "")},
		},
		{
			"the node above the time", "node=4,time=20,seq=1", 0,
			[][]sceneStep{{grant(3, 100, 200)}, calls(3, 100, ""), calls(1, 101, "")},
		},
	} {
		s := scene{Name: c.name, Layout: scheme(t, c.spec, nil).Layout().String(), Lead: c.lead}
		for _, steps := range c.steps {
			s.Steps = append(s.Steps, steps...)
		}
		s.Steps = s.play(t)
		v.Grants = append(v.Grants, s)
	}
}
