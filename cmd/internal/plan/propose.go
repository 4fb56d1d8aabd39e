package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// Need is the demand of a system on its layout.
type Need struct {
	Rate  float64 // IDs a second, all nodes together, spread evenly over them
	Nodes uint64  // generators at one time
	// Servers that sublet nodes to them; 0 means that each generator leases
	// its own.
	Servers uint64
	// Datacenters share the nodes evenly; above 1, the node has the parts
	// datacenter and worker.
	Datacenters uint64
	Scatter     uint64    // ranges of a database that new rows are spread over; 0 and 1 mean one
	Tags        uint64    // numbers that a caller can give; 0 and 1 mean no tag
	Years       float64   // from Epoch
	JSSafe      bool      // no ID may pass 2^53−1
	Epoch       time.Time // start of tick 0
}

// Proposal is a layout that meets a need, and its price.
type Proposal struct {
	Name   string           `json:"name"`
	Layout snowfence.Layout `json:"layout"`      // as its spec
	Until  time.Time        `json:"end_of_life"` // at most the end of the year 9999
	Nodes  uint64           `json:"nodes"`
	Unit   uint64           `json:"unit,omitempty"` // how many nodes servers lease together; 0 without servers

	PerNodePerSecond float64 `json:"ids_per_second_per_node"`
	PerSecond        float64 `json:"ids_per_second"`
	Digits           int     `json:"digits"` // decimal digits at the end of the years asked for
	OneNode          bool    `json:"one_node_reaches_the_rate"`

	For     string `json:"for"`
	Against string `json:"against"`
}

// Refusal says why no layout of one tick meets a need.
type Refusal struct {
	Tick   string `json:"tick"`
	Reason string `json:"reason"`
}

var perUnit = map[string]float64{"s": 1, "min": 60, "h": 3600, "day": 86400, "year": 365.2425 * 86400}

// ParseRate reads a rate as people write it, and returns how many a second
// it is.
func ParseRate(text string) (float64, error) {
	number, unit, ok := strings.Cut(text, "/")
	if !ok {
		unit = "s"
	}
	n, err := strconv.ParseFloat(number, 64)
	seconds := perUnit[unit]
	if err != nil || seconds == 0 {
		return 0, fmt.Errorf("%q is no rate such as 20 (a second), 20/s, 20/min, 20/h, 500/day or 10000/year", text)
	}
	return n / seconds, nil
}

// ParseNodes reads how many processes make IDs at one time.
func ParseNodes(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of processes", text)
	}
	return n, nil
}

// Check reports the first thing that is wrong with a need.
func (n Need) Check() error {
	switch {
	case !(n.Rate > 0) || n.Rate > 1e18:
		return errors.New("the rate must be above 0 and at most 1e18: IDs a second of all nodes together")
	case n.Nodes < 1 || n.Nodes > 1<<62:
		return errors.New("the nodes must be 1 or more, and at most 2^62: how many processes make IDs at one time")
	case n.Datacenters > n.Nodes:
		return fmt.Errorf("%d nodes are too few for %d data centers: each needs one", n.Nodes, n.Datacenters)
	case n.Scatter > 1<<12:
		return fmt.Errorf("%d ranges are more than the 4,096 that a layout can have", n.Scatter)
	case n.Tags > 1<<40:
		return fmt.Errorf("%d tags are too many: take at most 2^40", n.Tags)
	case !(n.Years > 0) || n.Years > 7000:
		return errors.New("the years must be above 0 and at most 7000: how long the layout has to last")
	}
	// A layout of one bit has nothing wrong but its epoch.
	l := snowfence.Layout{Epoch: n.Epoch, Fields: []snowfence.Field{{Name: snowfence.FieldTime, Bits: 1}}}
	return l.Validate()
}

// maxTimeBits is the most bits of time in a proposal. More would only be
// leading zeros.
const maxTimeBits = 62

// shape is one way to divide the bits; the time gets all that node and
// sequence leave, because leading zeros are free.
type shape struct {
	tick      time.Duration
	node, seq int
}

// Propose returns layouts that meet the need, each for another priority,
// and the reason for each tick that cannot. It returns no proposal when
// none can.
func Propose(n Need) ([]Proposal, []Refusal) {
	var list []Proposal
	var refused []Refusal
	add := func(name string, s shape, pro, con string) {
		for _, p := range list {
			if p.Layout.Equal(n.layout(s)) {
				return
			}
		}
		list = append(list, n.proposal(name, n.layout(s), pro, con))
	}
	if l := snowfence.Default(); n.met(l) {
		list = append(list, n.proposal("snowfence", l, "the layout of a new namespace: there is nothing to set",
			"longer IDs than a layout of just these bits"))
	}
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second} {
		least := n.smallest(tick)
		if !n.fits(least) {
			refused = append(refused, Refusal{tick.String(), n.reason(least)})
			continue
		}
		roomy := n.grow(least)
		switch tick {
		case time.Millisecond:
			add("short", least, "the shortest IDs with times to the millisecond", "no room for more nodes or "+
				"bursts than asked for")
			add("roomy", roomy, "times to the millisecond; "+n.unused(least, roomy), "longer IDs")
		case 10 * time.Millisecond:
			add("burst", roomy, "bursts of "+fmt.Sprint(int64(1)<<roomy.seq)+" IDs a node pass without waiting; "+
				n.unused(least, roomy), "times to 10 ms")
		case time.Second:
			add("coarse", least, "a second's IDs may all come at once", "times to the second: within it, IDs of "+
				"different nodes are in no order")
		}
	}
	return list, refused
}

// smallest is the smallest shape for a tick.
func (n Need) smallest(tick time.Duration) shape {
	perTick := math.Ceil(n.Rate / float64(n.Nodes) * tick.Seconds() / n.values())
	centers := max(n.Datacenters, 1)
	return shape{tick, bitsFor(centers) + bitsFor((n.nodes()-1)/centers+1), bitsFor(uint64(perTick))}
}

// bitsBeside returns the widths of scatter and tag.
func (n Need) bitsBeside() (scatter, tag int) { return bitsFor(n.Scatter), bitsFor(n.Tags) }

// values returns the number of scatter values.
func (n Need) values() float64 { return math.Exp2(float64(bitsFor(n.Scatter))) }

// nodes returns how many the layout must have. Servers keep a fifth free,
// and if one dies, its holders take other nodes while theirs are still
// taken.
func (n Need) nodes() uint64 {
	if n.Servers == 0 {
		return n.Nodes
	}
	return uint64(math.Ceil(float64(n.Nodes) * (1 + 1/float64(n.Servers)) / 0.8))
}

// timeBits is how many bits of time the years need.
func (n Need) timeBits(tick time.Duration) int {
	return max(bitsFor(uint64(math.Ceil(n.Years*yearNanoseconds/float64(tick)))), 1)
}

func (n Need) fits(s shape) bool {
	return n.timeBits(s.tick)+s.node+s.seq <= n.free() && n.layout(s).Validate() == nil
}

// free returns how many bits are left for time, node and sequence.
func (n Need) free() int {
	scatter, tag := n.bitsBeside()
	return n.bits() - scatter - tag
}

func (n Need) bits() int {
	if n.JSSafe {
		return 53
	}
	return 63
}

// grow spends spare bits: first until one node alone reaches the whole
// rate, then on a factor of four in nodes (restarts and growth hold more
// nodes than are at work), then on a factor of four in rate.
func (n Need) grow(s shape) shape {
	alone := bitsFor(uint64(math.Ceil(n.Rate * s.tick.Seconds() / n.values())))
	for _, to := range []shape{{s.tick, s.node, alone}, {s.tick, s.node + 2, alone}, {s.tick, s.node + 2, alone + 2}} {
		for s.seq < to.seq && n.fits(shape{s.tick, s.node, s.seq + 1}) {
			s.seq++
		}
		for s.node < to.node && n.fits(shape{s.tick, s.node + 1, s.seq}) {
			s.node++
		}
	}
	return s
}

func (n Need) unused(least, s shape) string {
	if s == least {
		return "nothing to spare"
	}
	var spare []string
	if more := s.node - least.node; more > 0 {
		spare = append(spare, fmt.Sprintf("%d × the nodes", uint64(1)<<more))
	}
	if more := s.seq - least.seq; more > 0 {
		spare = append(spare, fmt.Sprintf("%d × the rate a node", uint64(1)<<more))
	}
	return strings.Join(spare, " and ") + " that were asked for"
}

func (n Need) layout(s shape) snowfence.Layout {
	var fields []snowfence.Field
	scatter, tag := n.bitsBeside()
	if scatter > 0 {
		fields = append(fields, snowfence.Field{Name: snowfence.FieldScatter, Bits: scatter})
	}
	fields = append(fields, snowfence.Field{Name: snowfence.FieldTime, Bits: min(n.free()-s.node-s.seq, maxTimeBits)})
	if tag > 0 {
		fields = append(fields, snowfence.Field{Name: snowfence.FieldTag, Bits: tag})
	}
	name, node := snowfence.FieldNode, s.node
	if centers := bitsFor(max(n.Datacenters, 1)); centers > 0 {
		fields = append(fields, snowfence.Field{Name: "datacenter", Bits: centers})
		name, node = "worker", node-centers
	}
	if node > 0 {
		fields = append(fields, snowfence.Field{Name: name, Bits: node})
	}
	if s.seq > 0 {
		fields = append(fields, snowfence.Field{Name: snowfence.FieldSequence, Bits: s.seq})
	}
	return snowfence.Layout{Epoch: n.Epoch, Tick: s.tick, Fields: fields}
}

// end is the end of the years asked for.
func (n Need) end() time.Time {
	return time.Unix(n.Epoch.Unix()+int64(n.Years*yearNanoseconds/float64(time.Second)), 0)
}

// met reports whether a layout that is there already is enough.
func (n Need) met(l snowfence.Layout) bool {
	c := l.Capacity()
	return !n.JSSafe && n.Datacenters <= 1 && n.free() == n.bits() &&
		!l.Epoch.After(n.Epoch) && !l.EndOfLife().Before(n.end()) &&
		c.Nodes >= n.nodes() && c.PerNodePerSecond >= n.Rate/float64(n.Nodes)
}

func (n Need) proposal(name string, l snowfence.Layout, pro, con string) Proposal {
	c := l.Capacity()
	if n.JSSafe {
		pro += "; never passes 2^53"
	}
	if n.Scatter > 1 {
		pro += fmt.Sprintf("; new rows go to %.0f ranges", n.values())
		con += "; in the order of time only within each range"
	}
	return Proposal{
		Name: name, Layout: l, Until: l.EndOfLife(), Nodes: c.Nodes, Unit: n.unit(c.Nodes),
		PerNodePerSecond: c.PerNodePerSecond, PerSecond: c.PerSecond,
		Digits: DigitsAt(l, n.end()), OneNode: c.PerNodePerSecond >= n.Rate, For: pro, Against: con,
	}
}

// unit returns how many of the layout's nodes servers lease together:
// 1,024, or fewer so that each server can have eight units.
func (n Need) unit(nodes uint64) uint64 {
	if n.Servers == 0 {
		return 0
	}
	u := uint64(1024)
	for u > 1 && u > nodes/8/n.Servers {
		u /= 2
	}
	return u
}

// reason names the missing bits, and the needs that the bits would meet.
func (n Need) reason(s shape) string {
	t := n.timeBits(s.tick)
	if t+s.node+s.seq <= n.free() {
		return n.layout(s).Validate().Error()
	}
	years := math.Exp2(float64(n.free()-s.node-s.seq)) * float64(s.tick) / yearNanoseconds
	return fmt.Sprintf("%d bits of time, %d of node and %d of sequence are %d, but there are %d; at this rate "+
		"and number of nodes they last %s", t, s.node, s.seq, t+s.node+s.seq, n.free(), Years(years))
}

// Years formats a number of years for people.
func Years(y float64) string {
	if y < 1 {
		return fmt.Sprintf("%.0f days", y*365.2425)
	}
	return fmt.Sprintf("%v years", math.Round(10*y)/10)
}
