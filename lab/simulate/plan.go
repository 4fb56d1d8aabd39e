package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence"
)

// Plan says what to simulate.
type Plan struct {
	Seed  uint64  // everything that happens follows from it
	Hours float64 // virtual hours with faults; at most one for each run, so that what it makes fits into memory
	Trace bool    // keep what happens as lines of text

	sequences bool       // programs take numbers of sequences, instead of leases
	hostile   bool       // one of the clients is, in any case
	sublets   bool       // some programs sublet what they lease, in any case
	blocks    int        // how many times as long as usual blocks of IDs are; 0 means once
	layout    string     // of the run, instead of one that is drawn
	tamper    func(*sim) // tests of the simulation itself break something with it
}

// scenario is the world of one run, all of it drawn from the seed.
type scenario struct {
	ttl, skew   time.Duration
	jump        time.Duration // how far clocks step at most
	rates       [numFaults]int
	schemes     []*snowfence.Scheme // the first one, and what the layout is changed to
	readers     []*reader
	first, last int64 // leasable nodes
	unit        int64 // of the namespace
	slots       []*slot
	nature      time.Duration // mean time between two of the larger faults
	unsafe      bool          // the store may be rolled back while it keeps its identity
}

// maxSlots is the most slots a run has.
const maxSlots = 8

// layouts that runs are made with. The names are for snowfence.ParseLayout.
var layouts = [...]string{
	"twitter", "snowfence", "rollback", "randflake-raw", "sonyflake", "drift", "randflake", "snowfence", "twitter",
	"time=41,node=6,seq=4", "time=40,tick=10ms,seq=8,node=10",
}

// newScenario draws a world. Every fourth seed has a layout with scatter
// and tag, which it draws apart, so that all seeds draw the rest as before.
func newScenario(chance *rand.Rand, layout string, seed uint64) (*scenario, error) {
	sc := &scenario{
		ttl:  []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 15 * time.Second}[chance.IntN(4)],
		jump: []time.Duration{0, 20 * time.Millisecond, time.Second, 30 * time.Second, time.Hour}[chance.IntN(5)],
	}
	sc.skew = sc.ttl
	spec := layouts[chance.IntN(len(layouts))]
	if layout != "" {
		spec = layout
	}
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		return nil, err
	}
	if seed%4 == 1 && layout == "" && l.Cipher == snowfence.Plain {
		l = reshape(l, rand.New(rand.NewPCG(seed, 1)))
	}
	var keys []*snowfence.Secret
	if l.Cipher != snowfence.Plain {
		k, err := snowfence.NewSecret([]byte("0123456789abcdef"))
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		return nil, err
	}
	sc.schemes, sc.readers = []*snowfence.Scheme{s}, []*reader{newReader(s)}
	block := 1
	if chance.IntN(4) == 0 && l.Tick < time.Second {
		block = 1 << (1 + chance.IntN(2))
	}
	fixed := chance.IntN(4) == 0
	var need int64
	for i := range 3 + chance.IntN(maxSlots-2) {
		sl := &slot{
			index: i, label: string(rune('a' + i)), nodes: block, leases: 1 + chance.IntN(8)/6,
			lead: []int64{0, 0, 2000, 10}[chance.IntN(4)], coarse: chance.IntN(3) == 0,
			idle: []time.Duration{-1, 0, 2 * sc.ttl}[chance.IntN(3)],
		}
		if l.Tick >= time.Second {
			sl.lead = int64(chance.IntN(2))
		}
		if fixed {
			// Restarts reuse the number, and at times two machines were
			// given the same.
			n := int64(i) * int64(block)
			if i > 0 && chance.IntN(8) == 0 {
				n -= int64(block)
			}
			sl.node, sl.guard, sl.leases = &n, chance.IntN(3) == 0, 1
		}
		need += int64(sl.leases * block)
		sc.slots = append(sc.slots, sl)
	}
	sc.first = 0
	sc.last = min(need*2+int64(chance.IntN(8)), s.Nodes()-1)
	if chance.IntN(3) == 0 {
		sc.last = min(need+1, s.Nodes()-1)
	}
	sc.nature = time.Duration(1+chance.Int64N(3)) * sc.ttl / 2
	sc.unsafe = chance.IntN(3) == 0
	sc.drawFaults(chance)
	return sc, nil
}

// drawFaults draws how often each fault happens, in a million: of calls for
// those that happen to a call, of larger faults for the others.
func (sc *scenario) drawFaults(chance *rand.Rand) {
	level := []int{2, 6, 14}[chance.IntN(3)]
	for f, r := range map[Fault]int{
		faultLostRequest: 8000, faultLateRequest: 4000, faultDoubled: 10000, faultLostReply: 8000,
		faultLateReply: 4000, faultCut: 50000,
		faultCrashBefore: 300, faultCrashAfter: 300, faultStall: 20000,
	} {
		sc.rates[f] = r * level
	}
	for f, r := range map[Fault]int{
		faultCrash: 300, faultPause: 300, faultPartition: 300, faultJump: 300, faultFreeze: 100, faultDrift: 200,
		faultOutage:  100,
		faultRelease: 100, faultVeto: 60, faultTwins: 100, faultMoved: 20, faultConfirm: 10,
		faultChange: 15, faultDelete: 10,
		faultSetBack: 20, faultVanished: 20,
	} {
		sc.rates[f] = r
	}
	if sc.jump == 0 {
		sc.rates[faultJump] = 0
	}
	if !sc.unsafe {
		sc.rates[faultSetBack], sc.rates[faultVanished] = 0, 0
	}
}
