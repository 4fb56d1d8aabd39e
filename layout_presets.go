package snowfence

import (
	"time"
)

// Preset is a layout and its name in [ParseLayout] and --layout.
type Preset struct {
	Name   string
	Layout Layout
	About  string // whose layout it is, in a few words
}

const (
	// 41 bits of milliseconds since 2025, 10 of node, 12 of sequence. Every
	// tool knows this division, and 63 bits keep IDs positive. The recent
	// epoch lasts until September 2094, fourteen years longer than
	// Twitter's, and keeps IDs a digit shorter for years.
	specDefault = "time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms"

	specBwmarrin  = "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"
	specSonyflake = "time=39,seq=8,node=16,epoch=2014-09-01T00:00:00Z,tick=10ms"
	specRandflake = "time=30,node=17,seq=17,epoch=2024-10-27T03:33:20Z,tick=1s"
)

// presets are the known layouts, each by its spec. Vectors of their makers
// check each.
func presets() []struct{ name, spec, about string } {
	return []struct{ name, spec, about string }{
		{"snowfence", specDefault, "the layout of every new namespace"},
		{"default", specDefault, "another name of snowfence"},
		{
			"twitter", "time=41,datacenter=5,worker=5,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms",
			"Twitter's Snowflake: datacenter and worker",
		},
		{"bwmarrin", specBwmarrin, "github.com/bwmarrin/snowflake"},
		{"leaf", specBwmarrin, "Meituan Leaf, snowflake mode"},
		{"sonyflake", specSonyflake, "github.com/sony/sonyflake v1"},
		{"sonyflake-v1", specSonyflake, "another name of sonyflake"},
		{
			"sonyflake-v2", "time=39,seq=8,node=16,epoch=2025-01-01T00:00:00Z,tick=10ms",
			"github.com/sony/sonyflake v2",
		},
		// Its sequence numbers 0 to 4 are for IDs made by hand.
		{
			"drift", "time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,tick=1ms,first=5",
			"snow-drift (yitter IdGenerator), 6+6 bits",
		},
		// 64 bits: IDs turn negative in 2084.
		{
			"discord", "time=42,worker=5,process=5,seq=12,epoch=2015-01-01T00:00:00Z,tick=1ms",
			"Discord: worker and process, 64 bits",
		},
		{
			"instagram", "time=41,shard=13,seq=10,epoch=2011-08-24T21:07:01.721Z,tick=1ms",
			"Instagram: a shard per database",
		},
		// Midnight in Beijing. It ran out for its first users in November
		// 2024.
		{
			"baidu", "time=28,node=22,seq=13,epoch=2016-05-19T16:00:00Z,tick=1s",
			"Baidu uid-generator, seconds",
		},
		{"randflake", specRandflake + ",cipher=sparx", "gosuda.org/randflake: encrypted, seconds"},
		{"randflake-raw", specRandflake, "a Randflake before encryption, seconds"},
		// Its epoch is a sample.
		{
			"rollback", "time=41,node=8,rollback=2,seq=12,epoch=2020-01-01T00:00:00Z,tick=1ms",
			"41+8+2+12 with rollback bits",
		},
	}
}

// Presets returns every known layout, in the order to show them in. The
// caller owns the slice.
func Presets() []Preset {
	var list []Preset
	for _, p := range presets() {
		list = append(list, Preset{p.name, MustLayout(p.spec), p.about})
	}
	return list
}

// MustLayout is [ParseLayout] for package variables: it panics on an error.
func MustLayout(spec string) Layout {
	l, err := ParseLayout(spec)
	if err != nil {
		panic(err)
	}
	return l
}

func presetSpec(name string) (string, bool) {
	for _, p := range presets() {
		if p.name == name {
			return p.spec, true
		}
	}
	return "", false
}

func presetNames() (names []string) {
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

func defaultEpoch() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }

// Default returns the layout for new systems, "snowfence": 41 bits of
// milliseconds since 2025, 10 of node, 12 of sequence.
func Default() Layout { return MustLayout(specDefault) }

// Randflake returns the layout of gosuda.org/randflake: 30 bits of seconds
// since 2024-10-27T03:33:20Z, 17 of node, 17 of sequence, encrypted with
// SPARX-64/128. Its scheme needs a secret.
func Randflake() Layout { return MustLayout("randflake") }
