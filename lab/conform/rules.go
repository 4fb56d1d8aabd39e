package main

import (
	"fmt"
	"slices"
	"time"
)

// rule is a duty of a client, and the referee's play for it. In each, the
// judge judges all that it knows.
type rule struct {
	name, text, section string
	ttl                 time.Duration
	layout              func(asked time.Time) string // of the first request; nil means coarse
	nodes               int64                        // that can be leased; 0 means all
	play                func(*scene)
}

// The sections of docs/reference/specification.md.
const (
	making  = "To make IDs"
	tickets = "From a server: tickets"
)

// coarse has long ticks, so that a sequence number that is used twice
// shows.
func coarse(time.Time) string { return "time=32,node=10,seq=20,epoch=2025-01-01T00:00:00Z,tick=1s" }

// narrow has few sequence numbers in a tick, between the time and the node.
// Its ticks are long enough for all of them on a busy machine.
func narrow(time.Time) string {
	return "time=40,seq=3,datacenter=3,worker=4,epoch=2010-11-04T01:42:54.657Z,tick=200ms,first=1,last=5"
}

// above has all that can stand above the time, and is as narrow.
func above(time.Time) string {
	return "rack=1,scatter=2,tag=3,time=40,seq=3,datacenter=3,worker=3,epoch=2010-11-04T01:42:54.657Z,tick=200ms," +
		"first=1,last=5"
}

// long has ticks that are longer than the time between renewals.
func long(time.Time) string {
	return "time=30,node=4,seq=24,epoch=2025-01-01T00:00:00Z,tick=5s,first=16"
}

// ending has ticks for some seconds more.
func ending(now time.Time) string {
	const bits = 24
	epoch := now.Add(6*time.Second - 1<<bits*time.Millisecond).UTC()
	return fmt.Sprintf("time=%d,seq=12,node=10,epoch=%s,tick=1ms", bits, epoch.Format("2006-01-02T15:04:05.000Z07:00"))
}

var rules = []rule{
	{
		name: "renew", section: tickets, ttl: 3 * time.Second, play: playRenew,
		text: "renews in time, each time with the last ticket and a new attempt, at any server over the store",
	},
	{
		name: "sequence", section: making, ttl: 3 * time.Second, layout: narrow, play: playSequence,
		text: "uses the sequence numbers from first to last of the layout in the answer, each once in a tick",
	},
	{
		name: "above", section: making, ttl: 3 * time.Second, layout: above, play: playSequence,
		text: "with fields above the time, uses each sequence number once in a tick with each value, whatever the tag",
	},
	{
		name: "zero", section: tickets, ttl: 3 * time.Second, nodes: 1, play: playZero,
		text: "reads a field that is missing as 0, and passes over fields that it does not know",
	},
	{
		name: "lost-renewal", section: tickets, ttl: 6 * time.Second, play: playLostRenewal,
		text: "after a Renew without an answer asks again with the same ticket, and names the attempt as earlier",
	},
	{
		name: "lost-acquire", section: tickets, ttl: 3 * time.Second, play: playLostAcquire,
		text: "after an Acquire without an answer takes no second node",
	},
	{
		name: "damaged", section: tickets, ttl: 3 * time.Second, play: playDamaged,
		text: "keeps its ticket after an answer that is none, an error or a redirect, and follows none",
	},
	{
		name: "outage", section: tickets, ttl: 3 * time.Second, play: playOutage,
		text: "while no server answers goes on to the end of its grant, no further, and makes IDs again afterwards",
	},
	{
		name: "late", section: tickets, ttl: 3 * time.Second, play: playLate,
		text: "stamps no tick that a renewal granted before the answer is there",
	},
	{
		name: "taken", section: tickets, ttl: 6 * time.Second, play: playTaken,
		text: "after 409 stops at once, and acquires another node with its last ticket as lost",
	},
	{
		name: "gone", section: tickets, ttl: 6 * time.Second, play: playGone,
		text: "after 404 stops at once, and asks until the namespace is there again",
	},
	{
		name: "elsewhere", section: tickets, ttl: 6 * time.Second, play: playElsewhere,
		text: "told that its lease is elsewhere, or its ticket wrong, acquires another node, and never renews it again",
	},
	{
		name: "again", section: tickets, ttl: 3 * time.Second, layout: long, nodes: 1, play: playAgain,
		text: "with the same node again stamps only above what it stamped before, whatever is granted",
	},
	{
		name: "raised", section: tickets, ttl: 3 * time.Second, play: playRaised,
		text: "after a renewal that left ticks out, stamps none of them",
	},
	{
		name: "empty", section: tickets, ttl: 3 * time.Second, play: playEmpty,
		text: "stamps nothing of a grant without ticks, and renews it",
	},
	{
		name: "repeated", section: tickets, ttl: 3 * time.Second, play: playRepeated,
		text: "stamps nothing twice after an answer that came a second time",
	},
	{
		name: "clock", section: tickets, ttl: 3 * time.Second, play: playClock,
		text: "where the clock of a server is an hour ahead, stamps only ticks that were granted",
	},
	{
		name: "end", section: making, ttl: 3 * time.Second, layout: ending, play: playEnd,
		text: "after the last tick of the layout makes no ID",
	},
	{
		name: "killed", section: making, ttl: 3 * time.Second, play: playKilled,
		text: "killed and started again, makes no ID of its old grant",
	},
	{
		name: "stopped", section: making, ttl: 3 * time.Second, play: playStopped,
		text: "goes on after its process stood still beyond the end of its grant",
	},
}

// Names returns the names of all rules.
func Names() []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.name
	}
	return out
}

func chosen(only []string) []rule {
	if len(only) == 0 {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return !slices.Contains(only, r.name) })
}
