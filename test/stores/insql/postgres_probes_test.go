package insql

// pgFar lets IDs run a day ahead of the clock, so that a clock can stand or
// step back.
var pgFar = []string{"--lead", "100000000"}

var pgProbes = []probe[pgBase]{
	{"unique", []string{"--lanes", "2"}, func(b pgBase) error { return b.crowd(&ledger{}, 6, 300) }},
	{"stalled", append([]string{"--lanes", "1"}, pgFar...), pgStalled},
	{"cancelled", append([]string{"--lanes", "1"}, pgFar...), pgCancelled},
	{"savepoints", append([]string{"--lanes", "2"}, pgFar...), pgSavepoints},
	{"clock back", append([]string{"--lanes", "1"}, pgFar...), pgClockBack},
	{"ahead", []string{"--lanes", "1", "--lead", "50", "--max-wait", "2s"}, pgAhead},
	{"many rows", []string{"--layout", "time=41,node=10,seq=4,epoch=2025-01-01,tick=1ms", "--lead", "20"}, pgManyRows},
	{"slices", append([]string{"--layout", "time=41,node=10,seq=6,first=5,epoch=2025-01-01,tick=1ms"}, pgFar...), pgSlices},
	{"parts", append([]string{"--layout", "time=41,seq=4,dc=4,worker=6,epoch=2025-01-01,tick=10ms"}, pgFar...), pgParts},
	{"even", []string{"--lanes", "64"}, pgEven},
	{"both ways", nil, pgBothWays("snowfence")},
	{"both ways, 64 bits", []string{"--layout", pgWide}, pgBothWays(pgWide)},
	{"both ways, 62 bits", []string{"--layout", pgNarrow}, pgBothWays(pgNarrow)},
	{"both ways, tag", []string{"--layout", pgTagged}, pgBothWays(pgTagged)},
	{"tag", []string{"--layout", pgTagged}, pgTags},
	{"another server", []string{"--lead", "3000"}, pgAnotherServer},
	{"reset", nil, pgReset},
	{"lanes", append([]string{"--lanes", "4"}, pgFar...), pgOtherLanes},
	{"busy table", []string{"--lanes", "1"}, pgBusyTable},
	{"column", nil, pgColumnTurns},
	{"printed again", append([]string{"--lanes", "2"}, pgFar...), pgPrintedAgain},
	{"rights", nil, pgRights},
	{"settings", nil, pgSettings},
	{"names", []string{"--schema", `It's "a" Schema`}, pgNames},
	{"prepared", append([]string{"--lanes", "2"}, pgFar...), pgPrepared},
	{"lifetime", []string{"--layout", "time=41,node=10,seq=12,epoch=2026-01-01,tick=1ms"}, pgLifetime},
	{"copy", nil, pgCopy},
}

const (
	pgWide   = "time=42,node=10,seq=12,epoch=2025-01-01,tick=1ms"
	pgNarrow = "time=40,node=10,seq=12,epoch=2025-01-01,tick=1ms"
	pgTagged = "time=38,tag=3,node=10,seq=12,epoch=2025-01-01,tick=1ms"
)
