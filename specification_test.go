package snowfence_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

//go:generate go test -run ^TestSpecificationVectors$ . -write

var write = flag.Bool("write", false, "write testdata/specification instead of comparing with it")

// TestSpecificationVectors makes the vectors of docs/reference/specification.md, and compares them
// with the files that implementers read.
func TestSpecificationVectors(t *testing.T) {
	dir := filepath.Join("testdata", "specification")
	made := map[string]any{
		"layouts.json": specLayouts(t),
		"ids.json":     specIDs(t),
		"texts.json":   specTexts(t),
		"ciphers.json": specCiphers(t),
		"grants.json":  specGrants(t),
	}
	for name, v := range made {
		b := bytes.Buffer{}
		enc := json.NewEncoder(&b)
		enc.SetIndent("", " ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if *write {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, b.Bytes()) {
			t.Errorf("%s has other vectors than the code, %v: if they may change, run go generate .", path, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(made) {
		t.Errorf("%d files in %s, %v", len(files), dir, err)
	}
}

func layoutOf(t *testing.T, spec string) snowfence.Layout {
	t.Helper()
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(spec, err)
	}
	return l
}

type specLayout struct {
	Spec      string   `json:"spec"`
	Canonical string   `json:"canonical"`
	EpochNs   string   `json:"epoch_unix_ns"`
	TickNs    string   `json:"tick_ns"`
	Fields    [][2]any `json:"fields"`
	First     string   `json:"first"`
	Last      string   `json:"last"`
	Cipher    string   `json:"cipher"`
}

func epochNs(l snowfence.Layout) *big.Int {
	ns := big.NewInt(l.Epoch.Unix())
	ns.Mul(ns, big.NewInt(1e9))
	return ns.Add(ns, big.NewInt(int64(l.Epoch.Nanosecond())))
}

// specLayouts are specs, and what they mean.
func specLayouts(t *testing.T) any {
	out := struct {
		Presets [][2]string  `json:"presets"`
		Valid   []specLayout `json:"valid"`
		Invalid []string     `json:"invalid"`
	}{}
	var specs []string
	for _, p := range snowfence.Presets() {
		out.Presets = append(out.Presets, [2]string{p.Name, p.Layout.String()})
		specs = append(specs, p.Layout.String())
	}
	for _, spec := range append(specs,
		"time=41,node=10,seq=12",
		"time=41,node=10,sequence=12,epoch=2020-01-01",
		" tick=10ms, time=39, node=16, seq=8, order=node-last, epoch=2014-09-01",
		"time=39,seq=8,node=16,order=node-first",
		"time=30,zone=3,seq=10,rack=4,shelf=5,order=node-last",
		"time=30,zone=3,seq=10,rack=4,shelf=5",
		"time=41,node=0,seq=22",
		"time=41,node=8,rollback=2,seq=12,tick=1us",
		"time=30,seq=10,tick=1m",
		"time=30,seq=10,tick=1h30m",
		"time=30,seq=10,tick=1.5s",
		"time=30,seq=10,tick=90000ms",
		"time=30,seq=10,tick=24h,epoch=2020-02-03T04:05:06.789+01:00",
		"time=41,node=10,seq=12,epoch=1999-12-31T23:59:59.123456789Z",
		"time=41,node=10,seq=12,epoch=1900-01-01",
		"time=51,node=6,seq=6,first=5,last=63",
		"time=51,node=6,seq=6,first=5,last=60",
		"key=3,time=40,node=4,seq=6,first=5,cipher=ff1",
		"time=40,node=2,seq=21,cipher=sparx",
		"order=node-last,cipher=ff1,first=1,node=4,key=2,seq=7,time=031,tick=1s",
		"time=62",
		"time=11,seq=53",
		"time=2,node=62",
	) {
		l := layoutOf(t, spec)
		v := specLayout{
			Spec: spec, Canonical: l.String(), EpochNs: epochNs(l).String(),
			TickNs: strconv.FormatInt(int64(l.Tick), 10),
			First:  strconv.FormatInt(l.First, 10), Last: strconv.FormatInt(l.Last, 10), Cipher: string(l.Cipher),
		}
		for _, f := range l.Fields {
			v.Fields = append(v.Fields, [2]any{f.Name, f.Bits})
		}
		out.Valid = append(out.Valid, v)
	}
	out.Invalid = []string{
		"", "time", "time=41,node", "node=10,seq=12", "node=10,time=41,seq=12", "time=42,node=11,seq=12", "time=63",
		"time=1,seq=54", "time=41,rollback=7", "time=0,seq=3", "time=41,node=-1,seq=12", "time=41,node=1x,seq=12",
		"time=41,node=+1", "time =41", "time= 41", "time=41,", "time=41,seq=12,first=+1", "time=41,seq=12,first=",
		"time=41,seq=12,first=99999999999999999999", "time=41,seq=0,sequence=5", "time=41,tick=1ms,tick=1ms",
		"time=41,seq=12,epoch=2025-01-01T00:00:00", "time=41,seq=12,epoch=2025-02-30",
		"time=41,seq=12,tick=",
		"time=41,node=5,node=5", "time=41,seq=5,sequence=5", "time=41,No=5", "time=41,1a=5", "time=41,a_b=5",
		"time=41,seq=12,tick=999ns", "time=41,seq=12,tick=5", "time=41,seq=12,epoch=1899-12-31",
		"time=41,seq=12,epoch=2201-01-01", "time=41,seq=12,epoch=yesterday", "time=41,seq=3,first=8",
		"time=41,seq=3,last=8", "time=41,seq=3,first=5,last=4", "time=41,seq=3,last=0", "time=41,seq=12,order=up",
		"time=41,seq=12,cipher=aes", "time=41,seq=12,cipher=", "time=41,key=1,seq=12,cipher=ff1", "key=1,time=41,seq=12",
		"key=1,time=41,seq=12,cipher=sparx", "key=17,time=41,seq=2,cipher=ff1", "time=10,seq=9,cipher=ff1",
	}
	for _, spec := range out.Invalid {
		if l, err := snowfence.ParseLayout(spec); err == nil {
			t.Errorf("%q is the layout %s", spec, l)
		}
	}
	return out
}

type specID struct {
	Layout    string            `json:"layout"`
	Secrets   []string          `json:"secrets,omitempty"`
	Tick      string            `json:"tick"`
	UnixNs    string            `json:"unix_ns"`
	Node      string            `json:"node"`
	Parts     map[string]string `json:"parts"`
	Sequence  string            `json:"sequence"`
	Rollback  string            `json:"rollback"`
	Key       int               `json:"key"`
	Raw       string            `json:"raw"`
	ID        string            `json:"id"`
	Published bool              `json:"published,omitempty"` // other implementations have this number, too
}

type specRefused struct {
	Layout  string   `json:"layout"`
	Secrets []string `json:"secrets,omitempty"`
	ID      string   `json:"id"`
}

func schemeOf(t *testing.T, l snowfence.Layout, secrets []string) *snowfence.Scheme {
	t.Helper()
	var keys []*snowfence.Secret
	for _, s := range secrets {
		if s == "" {
			keys = append(keys, nil)
			continue
		}
		k, err := snowfence.ParseSecret([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		t.Fatal(l, err)
	}
	return s
}

// newSpecID composes an ID and takes it apart again.
func newSpecID(t *testing.T, spec string, secrets []string, p snowfence.Parts) specID {
	t.Helper()
	l := layoutOf(t, spec)
	s := schemeOf(t, l, secrets)
	id, err := s.Compose(p)
	if err != nil {
		t.Fatal(spec, err)
	}
	back, err := s.Decode(id)
	if err != nil || back.Tick != p.Tick || back.Node != p.Node || back.Sequence != p.Sequence ||
		back.Rollback != p.Rollback || back.Key != max(len(secrets)-1, 0) {
		t.Fatalf("%s: %d is %+v, %v, of %+v", spec, id, back, err, p)
	}
	ns := new(big.Int).Mul(big.NewInt(p.Tick), big.NewInt(int64(l.Tick)))
	ns.Add(ns, epochNs(l))
	if end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); back.Time.Before(end) {
		if have := new(big.Int).Mul(big.NewInt(back.Time.Unix()), big.NewInt(1e9)); have.Add(have,
			big.NewInt(int64(back.Time.Nanosecond()))).Cmp(ns) != 0 {
			t.Fatalf("%s: tick %d is %v", spec, p.Tick, back.Time)
		}
	}
	// The plain layout of the same fields: a cipher's key field has its number there.
	raw, shift := uint64(0), l.Width()
	values := s.NodeParts(p.Node)
	parts := map[string]string{}
	for _, f := range l.Fields {
		shift -= f.Bits
		v := int64(0)
		switch f.Name {
		case snowfence.FieldTime:
			v = p.Tick
		case snowfence.FieldSequence:
			v = p.Sequence
		case snowfence.FieldRollback:
			v = p.Rollback
		case snowfence.FieldKey:
			v = int64(back.Key)
		default:
			v, values = values[0], values[1:]
			parts[f.Name] = strconv.FormatInt(v, 10)
		}
		raw |= uint64(v) << shift
	}
	if l.Cipher == snowfence.Plain && raw != uint64(id) {
		t.Fatalf("%s: raw %d, %d", spec, raw, uint64(id))
	}
	return specID{
		Layout: l.String(), Secrets: secrets, Tick: strconv.FormatInt(p.Tick, 10), UnixNs: ns.String(),
		Node: strconv.FormatInt(p.Node, 10), Parts: parts, Sequence: strconv.FormatInt(p.Sequence, 10),
		Rollback: strconv.FormatInt(p.Rollback, 10), Key: back.Key,
		Raw: strconv.FormatInt(int64(raw), 10), ID: id.String(),
	}
}

const (
	oneSecret   = "dffd6021bb2bd5b0af676290809ec3a5"
	otherSecret = "00112233445566778899aabbccddeeff"
)

// specIDs are IDs and what they are made of.
func specIDs(t *testing.T) any {
	var out struct {
		IDs     []specID      `json:"ids"`
		Refused []specRefused `json:"refused"`
	}
	for _, v := range publishedIDs(t) {
		id := newSpecID(t, v.spec, v.secrets, v.parts)
		if id.Published = true; id.ID != v.id {
			t.Errorf("%s: %+v is %s, others say %s", v.spec, v.parts, id.ID, v.id)
		}
		out.IDs = append(out.IDs, id)
	}
	for _, c := range []struct {
		spec    string
		secrets []string
	}{
		{"default", nil},
		{"discord", nil},
		{"instagram", nil},
		{"time=30,zone=3,seq=10,rack=4,shelf=5", nil},
		{"time=11,seq=53", nil},
		{"time=2,node=62", nil},
		{"randflake", []string{otherSecret}},
		{"time=40,node=2,seq=21,cipher=sparx", []string{oneSecret}},
		{"time=41,node=4,seq=8,cipher=ff1", []string{oneSecret}},
		{"time=10,node=4,seq=6,cipher=ff1", []string{oneSecret}},
		{"time=41,node=10,seq=13,cipher=ff1", []string{otherSecret}},
		{"key=3,time=40,node=4,seq=6,first=5,cipher=ff1", []string{oneSecret}},
		{"key=3,time=40,node=4,seq=6,first=5,cipher=ff1", []string{oneSecret, otherSecret, oneSecret}},
		{"key=2,time=41,node=8,rollback=2,seq=11,cipher=ff1", []string{"", otherSecret}},
	} {
		l := layoutOf(t, c.spec)
		s := schemeOf(t, l, c.secrets)
		top := snowfence.Parts{
			Tick: s.MaxTick(), Node: s.Nodes() - 1, Sequence: 1<<l.Bits(snowfence.FieldSequence) - 1,
			Rollback: 1<<l.Bits(snowfence.FieldRollback) - 1,
		}
		for _, p := range []snowfence.Parts{
			{},
			top,
			{Tick: s.MaxTick()/2 + 1, Node: s.Nodes() / 3, Sequence: l.First, Rollback: top.Rollback / 2},
		} {
			out.IDs = append(out.IDs, newSpecID(t, c.spec, c.secrets, p))
		}
	}
	out.Refused = []specRefused{
		{Layout: "time=41,node=10,seq=11", ID: "4611686018427387904"},
		{Layout: "time=41,node=10,seq=12", ID: "-1"},
		{Layout: "time=41,node=4,seq=8,cipher=ff1", Secrets: []string{oneSecret}, ID: "9007199254740992"},
		{Layout: "key=3,time=40,node=4,seq=6,cipher=ff1", Secrets: []string{oneSecret}, ID: "1125899906842624"},
		{Layout: "key=3,time=40,node=4,seq=6,cipher=ff1", Secrets: []string{"", oneSecret}, ID: "0"},
	}
	for _, r := range out.Refused {
		n, err := strconv.ParseInt(r.ID, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := schemeOf(t, layoutOf(t, r.Layout), r.Secrets).Decode(snowfence.ID(n)); err == nil {
			t.Errorf("%s: %s is %+v", r.Layout, r.ID, p)
		}
	}
	return out
}

type publishedID struct {
	spec    string
	secrets []string
	parts   snowfence.Parts
	id      string
}

// publishedIDs are those that other implementations have.
func publishedIDs(t *testing.T) (list []publishedID) {
	var layouts map[string]struct {
		Vectors []map[string]any `json:"vectors"`
	}
	readJSON(t, "layouts.json", &layouts)
	number := func(v map[string]any, name string) int64 { n, _ := v[name].(float64); return int64(n) }
	for _, p := range snowfence.Presets() { // in their order
		s, err := snowfence.NewScheme(p.Layout)
		if err != nil {
			continue // encrypted
		}
		for _, v := range layouts[p.Name].Vectors {
			var values []int64
			for _, f := range p.Layout.NodeParts() {
				values = append(values, number(v, f.Name))
			}
			node, err := s.Node(values...)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, publishedID{p.Name, nil, snowfence.Parts{
				Tick: number(v, "tick"), Node: node, Sequence: number(v, "sequence"), Rollback: number(v, "rollback"),
			}, v["id"].(string)})
		}
	}
	var flakes []struct {
		Secret    string `json:"secret"`
		Node      int64  `json:"node_id"`
		Timestamp int64  `json:"timestamp"`
		Sequence  int64  `json:"sequence"`
		ID        string `json:"encrypted_id"`
	}
	readJSON(t, "randflake.json", &flakes)
	for _, f := range flakes {
		list = append(list, publishedID{"randflake", []string{f.Secret}, snowfence.Parts{
			Tick: f.Timestamp - snowfence.Randflake().Epoch.Unix(), Node: f.Node, Sequence: f.Sequence,
		}, f.ID})
	}
	if len(list) < 40 {
		t.Fatalf("%d published IDs", len(list))
	}
	return list
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unhex returns bytes of hexadecimal digits.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
