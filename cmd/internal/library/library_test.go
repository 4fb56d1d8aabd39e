package library

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

func set(text string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.Fields(text) {
		k, v, _ := strings.Cut(pair, "=")
		m[k] = v
	}
	return m
}

func TestDefaultsAreThePresets(t *testing.T) {
	for name, want := range map[string]snowfence.Layout{
		"bwmarrin":     snowfence.MustLayout("bwmarrin"),
		"leaf":         snowfence.MustLayout("leaf"),
		"randflake":    snowfence.MustLayout("randflake-raw"),
		"sonyflake":    snowfence.MustLayout("sonyflake"),
		"sonyflake-v2": snowfence.MustLayout("sonyflake-v2"),
		"yitter":       snowfence.MustLayout("drift"),
	} {
		got, err := Of(name, nil)
		if err != nil || !got.Layout.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", name, got.Layout, err, want)
		}
	}
	for name, spec := range map[string]string{
		"uid-generator": "baidu",
		"yitter-csharp": "time=51,node=6,seq=6,first=5,epoch=2020-02-20T02:20:02.02Z,tick=1ms",
	} {
		want, err := snowfence.ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Of(name, nil); err != nil || !got.Layout.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", name, got.Layout, err, want)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct{ name, set, spec string }{
		{"bwmarrin", "Epoch=1577836800000 NodeBits=8 StepBits=10", "time=45,node=8,seq=10,epoch=2020-01-01,tick=1ms"},
		{"bwmarrin", "nodebits=0 stepbits=22", "time=41,seq=22,epoch=2010-11-04T01:42:54.657Z,tick=1ms"},
		// Ticks count from 1970, so the epoch is not StartTime.
		{"sonyflake", "StartTime=2025-01-01T00:00:00.019Z", "time=39,seq=8,node=16,epoch=2025-01-01T00:00:00.01Z,tick=10ms"},
		{"sonyflake-v2", "TimeUnit=7ms BitsSequence=10 BitsMachineID=8", "time=45,seq=10,node=8,epoch=2024-12-31T23:59:59.994Z,tick=7ms"},
		{"leaf", "twepoch=2020-01-01", "time=41,node=10,seq=12,epoch=2020-01-01,tick=1ms"},
		{"uid-generator", "epochStr=2016-05-20 timeBits=29 workerBits=21 seqBits=13", "time=29,node=21,seq=13,epoch=2016-05-19T16:00:00Z,tick=1s"},
		{"yitter", "WorkerIdBitLength=4 SeqBitLength=10 MinSeqNumber=9 MaxSeqNumber=99", "time=49,node=4,seq=10,first=9,last=99,epoch=2020-02-19T18:20:02Z,tick=1ms"},
		{"yitter-csharp", "TimestampType=1 SeqBitLength=21 WorkerIdBitLength=10", "time=32,node=10,seq=21,first=5,epoch=2020-02-20T02:20:02.02Z,tick=1s"},
		{"yitter-csharp", "Method=2 MaxSeqNumber=40", "time=51,node=6,seq=6,first=5,last=41,epoch=2020-02-20T02:20:02.02Z,tick=1ms"},
		{"yitter-csharp", "Method=2 DataCenterIdBitLength=4", "time=51,node=6,seq=6,first=5,epoch=2020-02-20T02:20:02.02Z,tick=1ms"},
		{"yitter-csharp", "Method=2 TimestampType=1", "time=51,node=6,seq=6,first=5,epoch=2020-02-20T02:20:02.02Z,tick=1ms"},
		{"yitter-csharp", "DataCenterIdBitLength=4", "time=47,datacenter=4,worker=6,seq=6,epoch=2020-02-20T02:20:02.02Z,tick=1ms"},
	} {
		want, err := snowfence.ParseLayout(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Of(c.name, set(c.set)); err != nil || !got.Layout.Equal(want) {
			t.Errorf("%s %s: %v, %v; want %v", c.name, c.set, got.Layout, err, want)
		}
	}
}

// Sonyflake's own arithmetic, beside the layout's.
func TestSonyflakeEpoch(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 10 * time.Millisecond, time.Minute} {
		for _, start := range []string{
			"2014-09-01T00:00:00Z", "2025-01-01T00:00:00.0123456Z", "2026-02-03T04:05:06.999999999Z",
		} {
			s, err := time.Parse(time.RFC3339Nano, start)
			if err != nil {
				t.Fatal(err)
			}
			l := snowfence.Layout{
				Epoch: SonyflakeEpoch(s, unit), Tick: unit,
				Fields: snowfence.MustLayout("sonyflake").Fields,
			}
			for ns := range int64(200) {
				now := s.Add(time.Duration(ns) * 1_234_567)
				if got, want := l.TickOf(now), now.UnixNano()/int64(unit)-s.UnixNano()/int64(unit); got != want {
					t.Fatalf("unit %v from %s: %v is in tick %d, and Sonyflake says %d", unit, start, now, got, want)
				}
			}
		}
	}
}

func TestNotesAndRefusals(t *testing.T) {
	for _, c := range []struct{ name, set, note, fault string }{
		{"yitter", "SeqBitLength=12 WorkerIdBitLength=10", "cuts worker numbers to 4 bits: WorkerId 16 and WorkerId 0", ""},
		{"yitter", "Method=2", "Method 2 repeats IDs", ""},
		{"yitter-csharp", "Method=2", "makes the number 64 too", ""},
		{"yitter-csharp", "Method=2 TimestampType=1", "makes IDs without them", ""},
		{"sonyflake", "StartTime=2025-01-01T00:00:00.019Z", "rounded down to TimeUnit, 9ms before it", ""},
		{"yitter-csharp", "DataCenterIdBitLength=14 SeqBitLength=3 WorkerIdBitLength=3", "", "into the bits of the time"},
		{"yitter", "DataCenterIdBitLength=1", "", "yitter has no setting datacenteridbitlength; it has Method, "},
		{"yitter", "SeqBitLength=2", "", "SeqBitLength is 2"},
		{"yitter", "SeqBitLength=12 WorkerIdBitLength=11", "", "23 together; the library takes at most 22"},
		{"yitter", "MinSeqNumber=4", "", "the library takes 5 to 63"},
		{"yitter", "MinSeqNumber=9 MaxSeqNumber=8", "", "below MinSeqNumber"},
		{"sonyflake", "BitsSequence=9", "", "has no setting bitssequence"},
		{"sonyflake-v2", "BitsSequence=30", "", "leave 17 bits for the time"},
		{"sonyflake-v2", "TimeUnit=1us", "", "from 1ms up"},
		{"bwmarrin", "NodeBits=11", "", "23 together"},
		{"bwmarrin", "Epoch=soon", "", "not a time such as"},
		{"uid-generator", "timeBits=30", "", "65 together"},
		{"flikr", "", "", "unknown library"},
	} {
		l, err := Of(c.name, set(c.set))
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) ||
			c.fault == "" && (err != nil || !strings.Contains(strings.Join(l.Notes, " "), c.note)) {
			t.Errorf("%s %s: %v, %v", c.name, c.set, l.Notes, err)
		}
	}
}

// The Go port of snow-drift takes 0 for the default, the C# port for a single tick.
func TestLeadOfSnowDrift(t *testing.T) {
	for _, c := range []struct {
		name string
		want time.Duration
	}{{"yitter", 2001 * time.Millisecond}, {"yitter-csharp", time.Millisecond}} {
		if l, err := Of(c.name, set("TopOverCostCount=0")); err != nil || l.Lead != c.want {
			t.Errorf("%s: lead %v, %v; want %v", c.name, l.Lead, err, c.want)
		}
	}
}
