package simulate

import "fmt"

// Fault is a kind of thing that goes wrong.
type Fault int

// The kinds of faults. Most happen to one process or one message; the last
// ones to the store, and by the hand of its operator.
const (
	faultLostRequest Fault = iota
	faultLateRequest
	faultDoubled
	faultLostReply
	faultLateReply
	faultRefused
	faultCut
	faultCrashBefore
	faultCrashAfter
	faultCrash
	faultStall
	faultPause
	faultPartition
	faultJump
	faultFreeze
	faultDrift
	faultTwins
	faultOutage
	faultSetBack
	faultMoved
	faultVanished
	faultRelease
	faultVeto
	faultChange
	faultDelete
	faultConfirm
	faultPromoted
	faultAlter
	faultEnd
	faultAdmit
	numFaults
)

var faultNames = [numFaults]string{
	"requests lost", "requests late", "requests doubled", "replies lost", "replies late", "calls refused",
	"batches cut",
	"crashes before a call", "crashes after a call", "crashes", "stalls", "pauses", "partitions",
	"clock jumps", "clocks frozen", "clocks drifting", "snapshots resumed twice", "store outages", "stores rolled back",
	"stores replaced by a backup", "records vanished", "nodes released", "nodes vetoed",
	"layouts changed",
	"namespaces deleted", "stores moved and confirmed",
	"replicas promoted that lack nothing", "sequences changed", "sequences deleted", "sequences confirmed",
}

// String returns what happened, in the plural.
func (f Fault) String() string {
	if f < 0 || f >= numFaults {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return faultNames[f]
}

// drawFault decides whether a fault happens now.
func (s *sim) drawFault(f Fault, p *process, node int64) bool {
	if s.rates[f] == 0 || p.env.IntN(1_000_000) >= s.rates[f] || s.calm || p.replay {
		return false
	}
	s.noteFault(f, p, node)
	return true
}

// noteFault counts a fault that was decided on.
func (s *sim) noteFault(f Fault, p *process, node int64) {
	s.countFault(f, p)
	s.traceLine("fault: %v, node %d", f, node)
}

func (s *sim) countFault(f Fault, p *process) {
	s.figures.Faults[f]++
	who := ""
	if p != nil {
		who = p.name
	}
	s.hashEvent("fault", who, int64(f), 0)
}
