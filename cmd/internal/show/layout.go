package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/plan"
)

// Holds returns the size and the lifetime of a layout, a line for each
// fact.
func (v *View) Holds(s plan.Summary, now time.Time) (rows Rows) {
	if v.Name != s.Spec {
		rows.Add("layout", "%s", v.Name)
	}
	rows.Add("spec", "%s", s.Spec)
	var fields []string
	for _, f := range s.Fields {
		fields = append(fields, fmt.Sprintf("%s %d", f.Name, f.Bits))
	}
	rows.Add("bits", "%d: %s", s.Bits, strings.Join(fields, ", "))
	rows.Add("epoch", "%s, ticks of %s%s", s.Epoch.Format(time.RFC3339Nano), s.Tick, epochDoubt(s.Epoch))
	rows.Add("end of life", "%s", EndOfLife(v.Layout, now))
	rows.Add("nodes", "%s%s", Thousands(s.Nodes), v.partRanges())
	rows.Add("rate", "%s", Rate(v.Layout))
	from := func(name string, at *time.Time, never, then string) {
		if at != nil {
			never = fmt.Sprintf("%s (%s): from then on %s", Instant(*at), Ago(*at, now), then)
		}
		rows.Add(name, "%s", never)
	}
	from("past 2^53", s.JSUnsafeFrom, "never: IDs are exact in JavaScript", "JavaScript needs IDs as strings")
	from("negative", s.NegativeFrom, "never", "signed IDs are below 0")
	rows.Add("digits", "at most %d today, and %d at the end", s.Digits, s.MostDigits)
	return rows
}

// epochDoubt doubts an epoch in January 1970: seconds of this century lie
// there if they are read as milliseconds.
func epochDoubt(epoch time.Time) string {
	if seconds := epoch.UnixMilli(); seconds > 946684800 && seconds < 2208988800 {
		return fmt.Sprintf(" (doubtful: in seconds it would be %s)", Instant(time.Unix(seconds, 0).UTC()))
	}
	return ""
}

// Rate says how many IDs a second a layout holds.
func Rate(l snowfence.Layout) string {
	c := l.Capacity()
	return fmt.Sprintf("%s per node, %s in all", PerSecond(c.PerNodePerSecond), PerSecond(c.PerSecond))
}

func (v *View) partRanges() string {
	var parts []string
	for _, f := range v.parts {
		parts = append(parts, fmt.Sprintf("%s 0 to %s", f.Name, Thousands(uint64(1)<<f.Bits-1)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// EndOfLife says when a layout ends. Times are written up to the year 9999,
// years beyond it too.
func EndOfLife(l snowfence.Layout, now time.Time) string {
	if end := l.EndOfLife(); end.Year() < 9999 {
		return fmt.Sprintf("%s (%s)", Instant(end), Ago(end, now))
	}
	return fmt.Sprintf("in the year %s (in %s years)", Thousands(plan.EndYear(l)),
		Thousands(int64(plan.YearsLeft(l, now))))
}

// Instant writes a time to the second; plans are about years.
func Instant(t time.Time) string {
	if t.Year() == 9999 {
		return "after the year 9998"
	}
	return t.Format("2006-01-02T15:04:05Z07:00")
}

// Proposal returns the facts of a layout that meets a need. The first line
// has its name and spec.
func Proposal(p plan.Proposal, now time.Time) Rows {
	alone := "one node alone does not reach the rate"
	if p.OneNode {
		alone = "one node alone reaches the rate"
	}
	nodes := Thousands(p.Nodes)
	if p.Unit > 1 {
		nodes += ", leased in units of " + Thousands(p.Unit)
	}
	return Rows{
		{p.Name, p.Layout.String()},
		{"lasts", "until " + strings.TrimPrefix(EndOfLife(p.Layout, now), "in ")},
		{"nodes", nodes},
		{"rate", Rate(p.Layout) + "; " + alone},
		{"length", fmt.Sprintf("at most %s within the years asked for", Plural(int64(p.Digits), "digit"))},
		{"for", p.For},
		{"against", p.Against},
	}
}

// Follow returns the commands and the lines of Go that use a proposal.
func Follow(p plan.Proposal) (commands, lines []string) {
	options := "nil"
	var within string
	if p.Layout.Bits("datacenter") > 0 {
		within = " --within datacenter=0"
	}
	if p.Unit > 0 {
		commands = []string{
			fmt.Sprintf("snowfence namespace create orders --layout %s --unit %d --max-ttl 90s --store URL",
				LayoutName(p.Layout), p.Unit),
			"snowfence serve --advertise HOST:8080 --ready-for orders --store URL" + within,
		}
		return commands, []string{
			`c, err := remote.Dial([]string{"http://HOST:8080"}, nil)`,
			`ids, err := c.Open(ctx, &lease.Options{Namespace: "orders"})`,
		}
	}
	if !p.Layout.Equal(snowfence.Default()) {
		options = `&lease.Options{Namespace: "orders"}`
		commands = append(commands, "snowfence namespace create orders --layout "+LayoutName(p.Layout)+" --store URL",
			"snowfence new --namespace orders --store URL"+within)
	}
	if within != "" {
		options = `&lease.Options{Namespace: "orders", Within: within}`
		lines = append(lines,
			fmt.Sprintf("scheme, err := snowfence.NewScheme(snowfence.MustLayout(%q))", LayoutName(p.Layout)),
			`within, err := scheme.NodesWith(map[string]int64{"datacenter": 0})`)
	}
	return commands, append(lines, "ids, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL(), "+options+")")
}

// Refusal says why no layout of one tick meets a need.
func Refusal(r plan.Refusal) string { return fmt.Sprintf("not with ticks of %s: %s", r.Tick, r.Reason) }

// NoProposal says that no layout meets a need.
func NoProposal(n plan.Need) string {
	bits, more := "63 bits", ""
	if n.JSSafe {
		bits, more = "53 bits", "; without --js-safe there are 63"
	}
	return fmt.Sprintf("no layout of %s holds %s over %s nodes for %s%s", bits, PerSecond(n.Rate), Thousands(n.Nodes),
		plan.Years(n.Years), more)
}
