package sublet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/internal/claim"
)

// point is a tick of a node.
type point struct{ node, tick int64 }

// book knows who was granted each tick, by the rules of grants alone.
type book struct {
	*testing.T
	d     *division
	owner map[point]string
	given map[string][2]int64 // the last answer to each holder
	life  int
	log   []string
}

func (b *book) say(format string, args ...any) { b.log = append(b.log, fmt.Sprintf(format, args...)) }

func (b *book) who(node, tenancy int64) string { return fmt.Sprintf("%d/%d/%d", b.life, node, tenancy) }

// granted checks an answer: it is inside the grant, and has no tick of
// anybody else's.
func (b *book) granted(i int) {
	b.Helper()
	s, g := b.d.slots[i], b.d.grant
	node := g.Node + int64(i)
	me := b.who(node, s.tenancy)
	b.say("node %d to %s: [%d, %d)", node, me, s.from, s.until)
	if s.from < g.From || s.until > g.Until || s.from > s.until {
		b.Fatalf("[%d, %d) is not in the grant [%d, %d): %q", s.from, s.until, g.From, g.Until, b.log)
	}
	if last, ok := b.given[me]; ok && (s.from < last[0] || s.until < last[1]) {
		b.Fatalf("[%d, %d) after %v: %q", s.from, s.until, last, b.log)
	}
	b.given[me] = [2]int64{s.from, s.until}
	for t := s.from; t < s.until; t++ {
		if o := b.owner[point{node, t}]; o != "" && o != me {
			b.Fatalf("tick %d of node %d is %s's and %s's: %q", t, node, o, me, b.log)
		}
		b.owner[point{node, t}] = me
	}
}

// released forgets what the holder did not use: it decides about no other
// ticks.
func (b *book) released(node int64, me string, used int64) {
	for t := int64(0); used >= 0 && t < 64; t++ {
		if p := (point{node, t}); t >= used && b.owner[p] == me {
			delete(b.owner, p)
		}
	}
}

// note is what a holder has of its sublease.
type note struct {
	node, tenancy, serial int64
	attempt               string
	life                  int
}

// Whatever lessor and holders do, no two holders have a tick: each rule of
// a division, in random walks of few ticks. Some holders lie about what
// they used, and send tickets of before. Lessors lapse, lose, close, crash,
// and have clocks that go anywhere.
func TestDivisionRepeatsNoTick(t *testing.T) {
	l := tests.Must(snowfence.ParseLayout("time=6,node=3,seq=2,epoch=2025-01-01,tick=10ms"))
	counts := map[string]int{}
	for seed := range uint64(20_000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		b := &book{T: t, owner: map[point]string{}, given: map[string][2]int64{}}
		grant := snowfence.Grant{Node: 4, Nodes: 2, From: 1, Until: 4}
		floor := map[int64]int64{}
		b.d = divide(grant, 0)
		var notes []note
		tries := 0
		for range 40 {
			now := l.TimeOf(grant.From + chance.Int64N(grant.Until-grant.From+3) - 1)
			tt := claim.Ticks{Layout: l, MaxTick: 63, TTL: time.Duration(1+chance.IntN(4)) * 10 * time.Millisecond}
			tries++
			attempt := fmt.Sprint("attempt ", tries)
			keep := func(i int) {
				s := b.d.slots[i]
				b.granted(i)
				notes = append(notes, note{b.d.grant.Node + int64(i), s.tenancy, s.serial, s.attempt, b.life})
			}
			switch chance.IntN(10) {
			case 0, 1, 2:
				if i := b.d.free(tt, now, func(int64) bool { return true }); i >= 0 {
					b.d.begin(i, tt, now, attempt, "")
					keep(i)
					counts["begun"]++
				}
			case 3, 4, 5:
				if len(notes) == 0 {
					continue
				}
				n := notes[chance.IntN(len(notes))]
				attempts := []string{attempt}
				if chance.IntN(3) == 0 { // one that had no answer
					attempts = append(attempts, notes[len(notes)-1].attempt)
				}
				before := b.d.slots
				i := b.d.holds(n.node, n.tenancy, n.serial, attempts)
				if n.life != b.life && n.node >= b.d.grant.Node && i >= 0 {
					t.Fatalf("seed %d: a ticket of an earlier grant: %+v in %+v", seed, n, before)
				}
				if i >= 0 {
					b.d.renew(i, tt, now, attempt)
					keep(i)
					counts["renewed"]++
				}
			case 6:
				if len(notes) == 0 {
					continue
				}
				n := notes[chance.IntN(len(notes))]
				if i := b.d.holds(n.node, n.tenancy, n.serial, nil); i >= 0 {
					used := chance.Int64N(grant.Until+4) - 1
					b.say("%s releases at %d", b.who(n.node, n.tenancy), used)
					b.d.release(i, used)
					b.released(n.node, b.who(n.node, n.tenancy), used)
					counts["released"]++
				}
			case 7: // the lease is renewed
				grant.Until = min(grant.Until+chance.Int64N(3), 60)
				b.d.extend(grant)
			case 8: // it lapsed
				grant.From = min(grant.Until+chance.Int64N(2), 60)
				grant.Until = grant.From + chance.Int64N(3)
				b.say("lapsed: [%d, %d)", grant.From, grant.Until)
				b.d.extend(grant)
				counts["lapsed"]++
			default:
				next := grant.Until // it crashed, or lost its nodes
				if chance.IntN(2) == 0 {
					next = b.d.end() // it gave them back
					if next > grant.Until || next < grant.From {
						t.Fatalf("seed %d: gives [%d, %d) back at %d", seed, grant.From, grant.Until, next)
					}
					counts["given back"]++
				}
				floor[grant.Node] = next
				serial := b.d.serial
				if chance.IntN(2) == 0 { // a new process
					serial = 0
				}
				grant.Node = 4 + 2*chance.Int64N(2)
				grant.From = min(max(floor[grant.Node], grant.From)+chance.Int64N(2), 60)
				grant.Until = grant.From + 1 + chance.Int64N(4)
				b.say("ends; then [%d, %d) of %d", grant.From, grant.Until, grant.Node)
				b.d = divide(grant, serial)
				if b.life++; serial == 0 { // its tickets are answered elsewhere
					notes = nil
				}
			}
		}
	}
	for what, least := range map[string]int{
		"begun": 20_000, "renewed": 5_000, "released": 5_000, "lapsed": 20_000, "given back": 20_000,
	} {
		if counts[what] < least {
			t.Errorf("%d times %s: that is no test", counts[what], what)
		}
	}
}
