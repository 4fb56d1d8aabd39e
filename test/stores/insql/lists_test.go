package insql

import "time"

// far lets IDs run a day ahead of the clock, so that a clock can stand or
// step back.
func far(flags ...string) []string { return append(flags, "--lead", "100000000") }

const (
	wide     = "time=42,node=10,seq=12,epoch=2025-01-01,tick=1ms"
	narrow   = "time=40,node=10,seq=12,epoch=2025-01-01,tick=1ms"
	fewIDs   = "time=41,node=10,seq=4,epoch=2025-01-01,tick=1ms"
	slowIDs  = "time=38,node=10,seq=2,tick=10ms"
	someIDs  = "time=41,node=10,seq=8,first=5,last=99"
	withPart = "time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms"
)

// manyOf is how many rows a statement makes.
func manyOf() int {
	if *long {
		return 1_000_000
	}
	return 2000
}

var pgProbes = []probe{
	{"unique", []string{"--lanes", "2"}, func(b base) { b.crowd(&ledger{}, 6, 300) }},
	{"stalled", far("--lanes", "1"), pgStalled},
	{"cancelled", far("--lanes", "1"), pgCancelled},
	{"savepoints", far("--lanes", "2"), pgSavepoints},
	{"clock back", far("--lanes", "1"), pgClockBack},
	{"ahead", []string{"--lanes", "1", "--lead", "50", "--max-wait", "2s"}, pgAhead},
	{"many rows", []string{"--layout", fewIDs, "--lead", "20"}, func(b base) {
		manyRows(fewIDs, manyOf(), 21*time.Millisecond)(b)
	}},
	{"slices", far("--layout", "time=41,node=10,seq=6,first=5,epoch=2025-01-01,tick=1ms"), pgSlices},
	{"parts", far("--layout", "time=41,seq=4,dc=4,worker=6,epoch=2025-01-01,tick=10ms"), pgParts},
	{"even", []string{"--lanes", "64"}, pgEven},
	{"both ways", nil, bothWays("snowfence")},
	{"both ways, 64 bits", []string{"--layout", wide}, bothWays(wide)},
	{"both ways, 62 bits", []string{"--layout", narrow}, bothWays(narrow)},
	{"both ways, tag", []string{"--layout", tagged}, bothWays(tagged)},
	{"tag", []string{"--layout", tagged}, tags},
	{"another server", []string{"--lead", "3000"}, pgAnotherServer},
	{"reset", nil, pgReset},
	{"lanes", far("--lanes", "4"), pgOtherLanes},
	{"busy table", []string{"--lanes", "1"}, pgBusyTable},
	{"column", nil, pgColumnTurns},
	{"printed again", far("--lanes", "2"), pgPrintedAgain},
	{"printed anew", far("--lanes", "2"), pgPrintedAnew},
	{"rights", nil, pgRights},
	{"settings", nil, pgSettings},
	{"names", []string{"--schema", `It's "a" Schema`}, pgNames},
	{"prepared", far("--lanes", "2"), pgPrepared},
	{"lifetime", []string{"--layout", "time=41,node=10,seq=12,epoch=2026-01-01,tick=1ms"}, pgLifetime},
	{"copy", nil, pgCopy},
}

var mariadbProbes = []probe{
	{"unique", nil, unique},
	{"stalled", []string{"--layout", "time=34,node=10,seq=12,tick=10s"}, stalled},
	{"sixteen first calls at once", nil, firstCalls},
	{"fields", nil, fields("snowfence")},
	{"numbers left out", []string{"--layout", someIDs}, fields(someIDs)},
	{"parts around the sequence", []string{"--layout", withPart}, fields(withPart)},
	{"64 bits", []string{"--layout", "instagram"}, fields("instagram")},
	{"both ways", nil, bothWays("snowfence")},
	{"both ways, parts", []string{"--layout", withPart}, bothWays(withPart)},
	{"both ways, 62 bits", []string{"--layout", narrow}, bothWays(narrow)},
	{"both ways, 64 bits", []string{"--layout", "instagram"}, bothWays("instagram")},
	{"both ways, tag", []string{"--layout", tagged}, bothWays(tagged)},
	{"tag", []string{"--layout", tagged}, tags},
	{"trigger", nil, trigger},
	{"even", nil, even},
	{"ahead", []string{"--layout", slowIDs, "--lead", "5"}, manyRows(slowIDs, 400, 60*time.Millisecond)},
	{"too far ahead", []string{"--layout", "time=36,node=10,seq=2", "--lead", "3", "--max-wait", "100ms"}, tooFar},
	{"clock beyond the layout", nil, beyond},
	{"another server", nil, anotherServer},
	{"data put back", nil, putBack},
	{"numbers of a session", nil, sessionNumbers},
	{"printed again", nil, again},
	{"printed anew", far(), anew},
	{"increment", nil, increment},
	{"time of the session", nil, timeOfSession},
}
