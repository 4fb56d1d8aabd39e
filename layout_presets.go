package snowfence

import "time"

// Preset is a layout and its name in ParseLayout and --layout.
type Preset struct {
	Name   string
	Layout Layout
	About  string // whose layout it is, in a few words
}

// Presets returns every known layout, in the order of a list to show. The caller
// owns it.
func Presets() []Preset {
	return []Preset{
		{"snowfence", Default(), "the layout of every new namespace"},
		{"default", Default(), "another name of snowfence"},
		{"twitter", Twitter(), "Twitter's Snowflake: datacenter and worker"},
		{"bwmarrin", Bwmarrin(), "github.com/bwmarrin/snowflake"},
		{"leaf", Leaf(), "Meituan Leaf, snowflake mode"},
		{"sonyflake", Sonyflake(), "github.com/sony/sonyflake v1"},
		{"sonyflake-v2", SonyflakeV2(), "github.com/sony/sonyflake v2"},
		{"drift", Drift(), "snow-drift (yitter IdGenerator), 6+6 bits"},
		{"discord", Discord(), "Discord: worker and process, 64 bits"},
		{"instagram", Instagram(), "Instagram: a shard per database"},
		{"baidu", Baidu(), "Baidu uid-generator, seconds"},
		{"randflake", Randflake(), "gosuda.org/randflake: encrypted, seconds"},
		{"randflake-raw", RandflakeRaw(), "a Randflake before encryption, seconds"},
		{"rollback", Rollback(), "41+8+2+12 with rollback bits"},
	}
}

func preset(name string) (Layout, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p.Layout, true
		}
	}
	return Layout{}, false
}

func presetNames() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

func defaultEpoch() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }

// Default returns the layout for new systems: 41 bits of milliseconds since 2025,
// 10 of node, 12 of sequence.
//
// Every tool knows this division, and 63 bits keep IDs positive. The recent epoch
// lasts until September 2094, fourteen years longer than Twitter's, and keeps IDs
// a digit shorter for years. 1024 nodes are enough because leased nodes come
// back; 4096 IDs a millisecond are four million a second and node, with a lead
// for bursts.
func Default() Layout { return msLayout(defaultEpoch(), Field{FieldNode, 10}, 41, 12) }

// msLayout is time | node | sequence with ticks of 1 ms.
func msLayout(epoch time.Time, node Field, timeBits, seqBits int) Layout {
	fields := []Field{{FieldTime, timeBits}, node, {FieldSequence, seqBits}}
	return Layout{Epoch: epoch, Tick: time.Millisecond, Fields: fields}.norm()
}

func twitterEpoch() time.Time { return time.UnixMilli(1288834974657) }

// Twitter returns the original Snowflake layout: 41 bits of milliseconds since
// 2010-11-04, 5 of datacenter, 5 of worker, 12 of sequence.
func Twitter() Layout {
	return Layout{Epoch: twitterEpoch(), Tick: time.Millisecond, Fields: []Field{
		{FieldTime, 41},
		{"datacenter", 5},
		{"worker", 5},
		{FieldSequence, 12},
	}}.norm()
}

// Bwmarrin returns the default of github.com/bwmarrin/snowflake: Twitter's with
// one node field of 10 bits.
func Bwmarrin() Layout { return msLayout(twitterEpoch(), Field{FieldNode, 10}, 41, 12) }

// Leaf returns the layout of Meituan's Leaf in Snowflake mode: bits and epoch of
// [Bwmarrin].
func Leaf() Layout { return Bwmarrin() }

// Sonyflake returns the layout of Sonyflake v1: 39 bits of 10 ms since
// 2014-09-01, 8 of sequence, 16 of node below it.
func Sonyflake() Layout {
	return sonyflake(time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC))
}

// SonyflakeV2 returns the default of Sonyflake v2: that of v1 with the epoch
// 2025-01-01.
func SonyflakeV2() Layout {
	return sonyflake(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
}

func sonyflake(epoch time.Time) Layout {
	return Layout{Epoch: epoch, Tick: 10 * time.Millisecond, Fields: []Field{
		{FieldTime, 39},
		{FieldSequence, 8},
		{FieldNode, 16},
	}}.norm()
}

// Drift returns the default of snow-drift (yitter IdGenerator): 6 bits of node
// and 6 of sequence, so that IDs stay short for decades. Sequence numbers 0 to 4
// are for IDs made by hand. Use it with a lead of 2000 ticks.
func Drift() Layout {
	l := msLayout(time.UnixMilli(1582136402000), Field{FieldNode, 6}, 51, 6)
	l.First = 5
	return l
}

// Rollback returns a layout with 2 rollback bits, which stamp the true time after
// the clock stepped back. Its epoch, 2020-01-01, is a sample.
func Rollback() Layout {
	return Layout{Epoch: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Tick: time.Millisecond, Fields: []Field{
		{FieldTime, 41},
		{FieldNode, 8},
		{FieldRollback, 2},
		{FieldSequence, 12},
	}}.norm()
}

// Discord returns Discord's layout: 42 bits of milliseconds since 2015, 5 of
// worker, 5 of process, 12 of sequence. IDs turn negative in 2084.
func Discord() Layout {
	return Layout{Epoch: time.UnixMilli(1420070400000), Tick: time.Millisecond, Fields: []Field{
		{FieldTime, 42},
		{"worker", 5},
		{"process", 5},
		{FieldSequence, 12},
	}}.norm()
}

// Instagram returns Instagram's layout: 41 bits of milliseconds since 2011-08-24,
// 13 of shard, 10 of sequence. It has 64 bits.
func Instagram() Layout {
	return msLayout(time.UnixMilli(1314220021721), Field{"shard", 13}, 41, 10)
}

// Baidu returns the default of Baidu's uid-generator: 28 bits of seconds since
// 2016-05-20 in Beijing (2016-05-19T16:00:00Z), 22 of node, 13 of sequence. It
// ran out for its first users in November 2024.
func Baidu() Layout {
	return Layout{Epoch: time.UnixMilli(1463673600000), Tick: time.Second, Fields: []Field{
		{FieldTime, 28},
		{FieldNode, 22},
		{FieldSequence, 13},
	}}.norm()
}

// Randflake returns [RandflakeRaw], encrypted with SPARX-64/128. Its scheme needs
// a secret.
func Randflake() Layout {
	l := RandflakeRaw()
	l.Cipher = SPARX
	return l
}

// RandflakeRaw returns a Randflake before encryption: 30 bits of seconds since
// 2024-10-27T03:33:20Z, 17 of node, 17 of sequence.
func RandflakeRaw() Layout {
	return Layout{Epoch: time.Unix(1730000000, 0), Tick: time.Second, Fields: []Field{
		{FieldTime, 30},
		{FieldNode, 17},
		{FieldSequence, 17},
	}}.norm()
}
