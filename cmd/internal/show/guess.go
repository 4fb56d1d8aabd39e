package show

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// guessSlack is how far in the future a time may lie: clocks are off, and
// people make test data.
const guessSlack = 90 * 24 * time.Hour

// guess is an ID read under one layout.
type guess struct {
	view  *View
	parts snowfence.Parts
}

// What speaks against a reading.
const (
	noDoubt      = iota // a generator of the layout makes such an ID, up to now or soon
	earlyTime           // hardly any generator was at work then
	unusedNumber        // no generator of the layout makes such a number
	unlikelyTime
	otherLayout // the namespace had another layout then
)

func (g guess) doubtAt(now time.Time) int {
	switch {
	case g.parts.Tick < g.view.From || g.view.Until > 0 && g.parts.Tick >= g.view.Until:
		return otherLayout
	case g.parts.Time.After(now.Add(guessSlack)), g.view.maker != "" && g.parts.Time.Year() < 2010:
		return unlikelyTime // nobody had such generators before 2010
	case g.view.unused(g.parts):
		return unusedNumber
	}
	return noDoubt
}

// early reports whether an ID is rather a Unix time or a number that
// counts, because it would be of the first hour of the layout.
func (g guess) early(id snowfence.ID) bool {
	_, _, unix := unixTime(id)
	return unix || g.parts.Time.Sub(g.view.Layout.Epoch) < time.Hour
}

// unixTime reads a number as a time since 1970 in a unit. It returns times
// from 2000 to 2039.
func unixTime(id snowfence.ID) (t time.Time, unit string, ok bool) {
	const from, until = 946684800, 2208988800
	switch {
	case id >= from && id < until:
		return time.Unix(int64(id), 0).UTC(), "seconds", true
	case id >= from*1000 && id < until*1000:
		return time.UnixMilli(int64(id)).UTC(), "milliseconds", true
	}
	return t, "", false
}

// doubtNote says what a number may be that is hardly an ID.
func (g guess) doubtNote(id snowfence.ID) string {
	if t, unit, ok := unixTime(id); ok {
		return fmt.Sprintf("doubtful: in %s since 1970 it is %s", unit, Instant(t))
	}
	return "doubtful: numbers that count look so, as of tweets before November 2010"
}

// Known returns views of the presets and of other systems' layouts, the
// default layout first. Layouts with the same bits share a view.
func Known() ([]*View, error) {
	var views []*View
	for _, preset := range snowfence.Presets() {
		i := slices.IndexFunc(views, func(v *View) bool { return sameBits(v.Layout, preset.Layout) })
		if i >= 0 { // the first one's parts have the most to tell: datacenter and worker
			views[i].same = append(views[i].same, preset.Name)
			continue
		}
		if preset.Layout.Cipher != snowfence.Plain {
			continue // every number is one of its IDs under some secret
		}
		s, err := snowfence.NewScheme(preset.Layout)
		if err != nil {
			return nil, err
		}
		views = append(views, ViewOf(preset.Name, s))
	}
	for _, other := range [...]struct{ maker, spec string }{
		{"ClickHouse", "time=41,node=10,seq=12,epoch=1970-01-01,tick=1ms"},
		{"Mastodon", "time=48,seq=16,epoch=1970-01-01,tick=1ms"},
		{"TSID", "time=42,node=10,seq=12,epoch=2020-01-01,tick=1ms"},
		{"instagram from 1970", "time=41,node=13,seq=10,epoch=1970-01-01,tick=1ms"},
		{"sonyflake from 1970", "time=39,seq=8,node=16,epoch=1970-01-01,tick=10ms"},
		{"drift from 1970", "time=51,node=6,seq=6,epoch=1970-01-01,tick=1ms"},
	} {
		v, err := NewPlainView(other.spec)
		if err != nil {
			return nil, err
		}
		v.maker = other.maker
		views = append(views, v)
	}
	return views, nil
}

// sameBits reports whether two layouts give every ID the same time, node
// number and sequence number, whatever the parts of the node are called.
func sameBits(a, b snowfence.Layout) bool {
	a.Fields, b.Fields = joinNode(a.Fields), joinNode(b.Fields)
	return a.Equal(b)
}

// joinNode makes one field of node parts that stand side by side.
func joinNode(fields []snowfence.Field) []snowfence.Field {
	var joined []snowfence.Field
	for _, f := range fields {
		switch f.Name {
		case snowfence.FieldTime, snowfence.FieldSequence, snowfence.FieldRollback, snowfence.FieldScatter,
			snowfence.FieldTag:
		default:
			f.Name = snowfence.FieldNode
			if n := len(joined) - 1; n >= 0 && joined[n].Name == f.Name {
				joined[n].Bits += f.Bits
				continue
			}
		}
		joined = append(joined, f)
	}
	return joined
}
